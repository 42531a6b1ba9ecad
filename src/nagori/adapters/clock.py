"""The system clock."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo


class SystemClock:
    """The machine's time and time zone."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    @property
    def zone(self) -> tzinfo:
        zone = datetime.now(UTC).astimezone().tzinfo
        assert zone is not None
        return zone
