"""An instant as people read it: local time first, with its distance from UTC.

Every listing and sentence that tells a schedule's time has it from here.
"""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(ms: int, zone: str, *, timespec: str = "seconds") -> str:
    """`2026-11-15 20:30:00 +01:00`; UTC is written as such."""
    at = (_EPOCH + timedelta(milliseconds=ms)).astimezone(ZoneInfo(zone))
    local, offset = at.replace(tzinfo=None).isoformat(sep=" ", timespec=timespec), f"{at:%z}"
    return f"{local} {'UTC' if offset == '+0000' else f'{offset[:3]}:{offset[3:5]}'}"
