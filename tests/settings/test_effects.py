"""Every setting of the reference has an effect that can be observed from outside.

A setting without an experiment fails here. An exemption needs its reason in `EXEMPT`; there is none.
"""

from collections import Counter
from pathlib import Path

import pytest
from tests.settings import conversations, finding, hosts, learning, life, models, serving, window
from tests.settings.lab import Experiment, Lab, Settings

from nagori import config

DEFAULTS = {row.key: row.default for row in config.describe()}
TABLES = (life, finding, conversations, window, models, hosts, serving, learning)
EXPERIMENTS = [experiment for table in TABLES for experiment in table.EXPERIMENTS]
BY_KEY = {experiment.key: experiment for experiment in EXPERIMENTS}
EXEMPT: dict[str, str] = {}  # setting: why it cannot have an experiment


Baselines = dict[tuple[object, tuple[object, ...]], object]


@pytest.fixture(scope="module")
def baselines() -> Baselines:
    """Results with the defaults, by observation and given settings: many experiments share one."""
    return {}


@pytest.mark.parametrize("key", [key for key in DEFAULTS if key not in EXEMPT])
def test_a_setting_changes_what_can_be_observed(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], baselines: Baselines
) -> None:
    assert key in BY_KEY, f"{key} has no experiment: show its effect in tests/settings"
    experiment = BY_KEY[key]
    assert experiment.other != DEFAULTS[key]
    same = experiment.observe, tuple(experiment.given.items())
    if same not in baselines:
        baselines[same] = observe(experiment, {}, tmp_path / "usual", capsys)
    changed = {**experiment.along, key: experiment.other}
    usual, other = baselines[same], observe(experiment, changed, tmp_path / "other", capsys)
    assert experiment.differs(usual, other), f"{usual!r} with the default, {other!r} with the other value"
    assert not experiment.differs(usual, usual), "this experiment succeeds without any effect"


def observe(
    experiment: Experiment, changes: Settings, folder: Path, capture: pytest.CaptureFixture[str]
) -> object:
    """The result with these changes, in an empty home."""
    with pytest.MonkeyPatch.context() as patch:
        lab = Lab(folder, patch, capture, {**experiment.given, **changes})
        with lab.cleanup:
            return experiment.observe(lab)


def test_experiments_and_settings_belong_together() -> None:
    assert [key for key, count in Counter(e.key for e in EXPERIMENTS).items() if count > 1] == []
    assert BY_KEY.keys() - DEFAULTS.keys() == set()
    assert [e.key for e in EXPERIMENTS if e.key in e.given or e.key in e.along] == []
    assert BY_KEY.keys() & EXEMPT.keys() == set()
