"""How many examples Hypothesis tries: `HYPOTHESIS_PROFILE=thorough make test-all`.

- `dev`: a quarter, different ones each time; `make test`
- `ci`: as many as a test asks for, the same ones each time; `make test-all`, workflows
- `thorough`: ten times as many, different ones each time; a night's work
"""

import os
from typing import Any

from hypothesis import HealthCheck, settings

# A shared machine may be slow; correctness does not depend on that.
PATIENT: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
USUAL = 100
SHARES = {"dev": 0.25, "ci": 1.0, "thorough": 10.0}
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "dev")


def share_of(number: int, profile: str = PROFILE) -> int:
    """So many in a profile; never fewer than 20, unless fewer were asked for."""
    return max(min(number, 20), round(number * SHARES[profile]))


def examples(number: int, **more: Any) -> settings:
    """`@examples(300)`: so many at full strength, a share of them in `dev`."""
    return settings(max_examples=share_of(number), **more)


def load_profile() -> None:
    """Called once, by tests/conftest.py."""
    if PROFILE not in SHARES:
        raise SystemExit(f"HYPOTHESIS_PROFILE={PROFILE}: it is one of {', '.join(SHARES)}")
    for name in SHARES:
        fixed: dict[str, Any] = {"derandomize": True, "print_blob": True} if name == "ci" else {}
        settings.register_profile(name, max_examples=share_of(USUAL, name), **PATIENT, **fixed)
    settings.load_profile(PROFILE)
