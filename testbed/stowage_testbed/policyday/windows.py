"""When the windows of a packing policy are open within a day that passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from stowage_testbed.base.errors import InputError

_MONTHS = [
    "jan", "feb", "mar", "apr", "may", "jun",
    "jul", "aug", "sep", "oct", "nov", "dec",
]  # fmt: skip
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

_FIELDS = (
    # name, first, last, names of the values
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of the month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 6, _DAYS),
)


@dataclass(frozen=True, slots=True)
class Opening:
    """One of a policy's windows, as its spec has it."""

    schedule: str
    time_zone: str
    duration_s: int


@dataclass(frozen=True, slots=True)
class Window:
    """From ``start_s`` until ``end_s``, in seconds from the beginning of the day."""

    start_s: float
    end_s: float


def list_windows(openings: Sequence[Opening], began: datetime, length_s: float) -> tuple[Window, ...]:
    """Return the windows that begin within the day, in their order.

    What lies behind the day's end is cut off. A window goes on to its end although
    others begin meanwhile; of those that begin at once, the longest counts.

    Raises
    ------
    InputError
        A schedule has not the five fields of cron, or a time zone is not known.
    """
    found = sorted(
        (
            Window(start_s, min(length_s, start_s + one.duration_s))
            for one in openings
            for start_s in _starts(one, began, length_s)
        ),
        key=lambda window: (window.start_s, -window.end_s),
    )
    windows: list[Window] = []
    for window in found:
        if not windows or window.start_s >= windows[-1].end_s:
            windows.append(window)
    return tuple(windows)


def _starts(opening: Opening, began: datetime, length_s: float) -> Iterator[float]:
    values = _read_schedule(opening.schedule)
    try:
        zone = ZoneInfo(opening.time_zone or "UTC")
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise InputError(
            f"no time zone {opening.time_zone!r}; names are those of the IANA database, as in Europe/Berlin"
        ) from error
    first = began.astimezone(UTC)
    minute = first.replace(second=0, microsecond=0)
    while (start_s := (minute - first).total_seconds()) < length_s:
        if start_s >= 0 and _holds(values, opening.schedule, minute.astimezone(zone)):
            yield start_s
        minute += timedelta(minutes=1)


def _holds(values: Sequence[frozenset[int]], schedule: str, at: datetime) -> bool:
    minutes, hours, days, months, weekdays = values
    if at.minute not in minutes or at.hour not in hours or at.month not in months:
        return False
    of_month, of_week = at.day in days, at.isoweekday() % 7 in weekdays
    # By old custom either is enough, unless one of the two is a star.
    _, _, told_day, _, told_weekday = schedule.split()
    if told_day.startswith("*") or told_weekday.startswith("*"):
        return of_month and of_week
    return of_month or of_week


def _read_schedule(schedule: str) -> tuple[frozenset[int], ...]:
    fields = schedule.split()
    try:
        if len(fields) != len(_FIELDS):
            raise ValueError(f"{len(fields)} fields")
        return tuple(
            frozenset(value for part in field.lower().split(",") for value in _read_part(part, first, last, names))
            for field, (_, first, last, names) in zip(fields, _FIELDS, strict=True)
        )
    except ValueError as error:
        raise InputError(f"schedule {schedule!r}: {error}; it has five fields, as in 0 2 * * 6") from error


def _read_part(part: str, first: int, last: int, names: Sequence[str]) -> range:
    span, _, step = part.partition("/")
    low, dash, high = span.partition("-")
    if span in {"*", "?"}:
        begin, end = first, last
    else:
        begin = _read_value(low, first, names)
        # A single value with a step goes on to the last.
        end = _read_value(high, first, names) if dash else (last if step else begin)
    if not first <= begin <= end <= last:
        raise ValueError(f"{part} is not between {first} and {last}")
    return range(begin, end + 1, max(1, int(step or 1)))


def _read_value(text: str, first: int, names: Sequence[str]) -> int:
    return names.index(text) + first if text in names else int(text)
