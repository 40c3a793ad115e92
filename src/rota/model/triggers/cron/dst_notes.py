"""What a cron line does at the clock changes to come: `8 Mar: 02:30 does not exist → 03:00`."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

from msgspec import Struct

from rota.model.triggers.cron.cron import Cron
from rota.model.triggers.cron.fires import Dst, fires_once, makes_up, next_fire
from rota.model.triggers.words.lists import MONTHS, join_words
from rota.model.triggers.zones.offsets import MAX_SECONDS, MIN_SECONDS, Segment, offsets_of

_MAX_LISTED = 3
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class DstNote(Struct, frozen=True):
    """One clock change that touches the line."""

    instant: int
    text: str


def dst_notes(
    cron: Cron, after_ms: int, until_ms: int, *, zone: str = "UTC", dst: Dst = Dst.VIXIE
) -> tuple[DstNote, ...]:
    """The clock changes in (after, until] at which a match is left out or shown twice."""
    notes = []
    for segment in _changes(zone, after_ms // 1000 + 1, until_ms // 1000):
        text = _gap_note(cron, segment, zone, dst) or _repeat_note(cron, segment, dst)
        if text:
            notes.append(DstNote(segment.start * 1000, text))
    return tuple(notes)


def _changes(zone: str, start: int, end: int) -> Iterator[Segment]:
    """The segments that begin in the range; those that go on as before have nothing to tell."""
    offsets = offsets_of(zone)
    instant = max(start, MIN_SECONDS)
    while instant <= min(end, MAX_SECONDS - 1):
        segment = offsets.at(instant)
        if segment.start == instant:
            yield segment
        instant = segment.end


def _gap_note(cron: Cron, segment: Segment, zone: str, dst: Dst) -> str | None:
    times = _listed(cron, segment.gap, segment.local_start)
    if times is None:
        return None
    verb = "does" if cron.count_local(segment.gap, segment.local_start) == 1 else "do"
    note = f"{_date(segment.gap)}: {times} {verb} not exist → "
    if makes_up(cron, dst, segment):
        return note + _moment(segment.local_start, segment.gap)
    if not cron.is_interval_like:
        return note + "no fire"
    following = next_fire(cron, segment.start * 1000 - 1, zone, dst)
    if following is None:
        return note + "no fire"
    return f"{note}goes on at {_moment(following // 1000 + segment.offset, segment.gap)}"


def _repeat_note(cron: Cron, segment: Segment, dst: Dst) -> str | None:
    times = _listed(cron, segment.local_start, segment.fresh)
    if times is None:
        return None
    verb = "occurs" if cron.count_local(segment.local_start, segment.fresh) == 1 else "occur"
    answer = "fires the first time only" if fires_once(cron, dst) else "fires both times"
    return f"{_date(segment.local_start)}: {times} {verb} twice → {answer}"


def _listed(cron: Cron, start: int, end: int) -> str | None:
    """The matches from `start` to before `end`, or the stretch they lie in when they are many; None without any."""
    matches = list(islice(cron.local_between(start, end), _MAX_LISTED + 1)) if start < end else []
    if not matches:
        return None
    if len(matches) > _MAX_LISTED:
        return f"{cron.count_local(start, end)} times from {_clock(start)} to {_clock(end - 1)}"
    return join_words([_clock(match) for match in matches])


def _moment(local: int, beside: int) -> str:
    """The time, with the date where it is another one."""
    return _clock(local) if local // 86_400 == beside // 86_400 else f"{_date(local)} {_clock(local)}"


def _clock(local: int) -> str:
    moment = _EPOCH + timedelta(seconds=local)
    return f"{moment:%H:%M:%S}" if moment.second and moment.second != 59 else f"{moment:%H:%M}"


def _date(local: int) -> str:
    moment = _EPOCH + timedelta(seconds=local)
    return f"{moment.day} {MONTHS[moment.month - 1][:3]}"
