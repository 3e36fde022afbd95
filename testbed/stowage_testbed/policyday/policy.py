"""A PackingPolicy's manifest and windows; schedules follow github.com/robfig/cron/v3, as in the controller."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
import yaml
from msgspec import Meta, Struct

from stowage_testbed.base.errors import InputError

KIND = "PackingPolicy"

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[int, int, Sequence[str]], ...] = (
    # first, last, names of the values
    (0, 59, ()),
    (0, 23, ()),
    (1, 31, ()),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)
_NAMED = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_SEARCHED_DAYS = 5 * 366
"""The controller looks no further ahead, either."""


class Window(NamedTuple):
    """From ``start_s`` until ``end_s``, in seconds from the beginning of the trace."""

    start_s: float
    end_s: float


class Opening(Struct, frozen=True):
    """One entry of a policy's ``windows``."""

    schedule: str
    duration_s: Annotated[int, Meta(ge=1)] = msgspec.field(name="durationSeconds")
    time_zone: str | None = msgspec.field(name="timeZone", default=None)


class Policy(Struct, frozen=True):
    """What a policy asks for; ``None`` and empty where it leaves something out."""

    openings: Annotated[tuple[Opening, ...], Meta(min_length=1)] = msgspec.field(name="windows")
    max_moves: int | None = msgspec.field(name="maxMovesPerWindow", default=None)
    cool_down_s: float = msgspec.field(name="coolDownSeconds", default=0.0)
    schedulers: tuple[str, ...] = msgspec.field(name="schedulerNames", default=())
    nodes: dict[str, Any] | None = msgspec.field(name="nodeSelector", default=None)
    namespaces: dict[str, Any] | None = msgspec.field(name="namespaceSelector", default=None)
    name: str = ""
    manifest: Mapping[str, Any] = {}

    def automatic(self) -> dict[str, Any]:
        """Return the manifest with plans that nobody else has to approve."""
        spec = {"objective": "Consolidate", **self.manifest["spec"]}
        return {**self.manifest, "spec": {**spec, "approval": "Automatic"}}

    def windows(self, began: datetime, length_s: float, say: Callable[[str], object] = bool) -> tuple[Window, ...]:
        """Return the windows that begin within ``length_s`` seconds; one goes on although others begin meanwhile.

        ``say`` is told what never opens. An `InputError` if the controller would refuse a schedule or a time zone.
        """
        found: list[Window] = []
        for number, one in enumerate(self.openings):
            place = f"windows[{number}]"
            schedule = _Schedule(place, one)
            if schedule.never_opens(began):
                say(f"{place}: schedule {one.schedule!r} never opens a window: no day of the next five years matches")
            found += (Window(at, min(length_s, at + one.duration_s)) for at in schedule.starts(began, length_s))
        windows: list[Window] = []
        for window in sorted(found, key=lambda one: (one.start_s, -one.end_s)):
            if not windows or window.start_s >= windows[-1].end_s:
                windows.append(window)
        if not windows:
            say(f"no window of policy {self.name} opens within the {length_s / 3600:.2f} h of the trace")
        return tuple(windows)


def read_policy(path: Path) -> Policy:
    """Return the policy of a file; an `InputError` if it holds no PackingPolicy with windows."""
    try:
        manifest = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise InputError(f"{path}: is not YAML ({error})") from error
    if not isinstance(manifest, dict) or manifest.get("kind") != KIND:
        raise InputError(f"{path}: holds no {KIND}; it must be the only object there")
    try:
        policy = msgspec.convert(manifest["spec"], Policy)
        return msgspec.structs.replace(policy, name=manifest["metadata"]["name"], manifest=manifest)
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise InputError(
            f"{path}: is no {KIND} that a cluster would take ({error!r}); try: kubectl "
            f"create --dry-run=server -f {path}"
        ) from error


class _Schedule:
    """When the windows of an entry begin."""

    def __init__(self, place: str, opening: Opening) -> None:
        text = opening.schedule
        if text.startswith(("TZ=", "CRON_TZ=")):
            raise InputError(f"{place}: schedule {text!r} has a time zone of its own; write it as timeZone")
        if text.startswith("@every "):
            raise InputError(
                f"{place}: schedule {text!r} depends on when the scheduler began; name times, as in 0 2 * * 6"
            )
        fields = _NAMED.get(text, text).split()
        try:
            if len(fields) != len(_FIELDS):
                raise ValueError(f"{len(fields)} fields")
            read = [_read_field(field, *bounds) for field, bounds in zip(fields, _FIELDS, strict=True)]
        except ValueError as error:
            raise InputError(
                f"{place}: schedule {text!r}: {error}; it has five fields, as in 0 2 * * 6, or is one of "
                f"{', '.join(_NAMED)}"
            ) from error
        (self._minutes, _), (self._hours, _), (self._days, all_days), (self._months, _), (self._weekdays, all_week) = (
            read
        )
        self._both = all_days or all_week
        try:
            self._zone = ZoneInfo(opening.time_zone or "UTC")
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise InputError(
                f"{place}: no time zone {opening.time_zone!r}; names are those of the IANA database, as in "
                "Europe/Berlin"
            ) from error

    def starts(self, began: datetime, length_s: float) -> Iterator[float]:
        """Yield when windows begin, in seconds from the beginning."""
        first = began.astimezone(UTC)
        minute = first.replace(second=0, microsecond=0)
        while (start_s := (minute - first).total_seconds()) < length_s:
            at = minute.astimezone(self._zone)
            if start_s >= 0 and at.minute in self._minutes and at.hour in self._hours and self._has_day(at):
                yield start_s
            minute += timedelta(minutes=1)

    def never_opens(self, began: datetime) -> bool:
        days = (began + timedelta(days=number) for number in range(_SEARCHED_DAYS))
        return not (self._minutes and self._hours and any(map(self._has_day, days)))

    def _has_day(self, at: datetime) -> bool:
        if at.month not in self._months:
            return False
        of_month, of_week = at.day in self._days, at.isoweekday() % 7 in self._weekdays
        # By old custom either is enough, unless one of the two is a star.
        return of_month and of_week if self._both else of_month or of_week


def _read_field(field: str, first: int, last: int, names: Sequence[str]) -> tuple[frozenset[int], bool]:
    """Return the values of a field, and whether it is a star, which one with a step is not."""
    values: set[int] = set()
    is_star = False
    for part in filter(None, field.split(",")):
        span, *steps = part.split("/")
        bounds = span.split("-")
        if len(steps) > 1 or len(bounds) > 2:  # noqa: PLR2004 - a first and a last value
            raise ValueError(f"{part} is no value, range or step")
        step = _read_number(steps[0], part) if steps else 1
        if bounds[0] in {"*", "?"}:
            begin, end = first, last
            is_star |= step == 1
        else:
            begin, *ends = (
                names.index(one.lower()) + first if one.lower() in names else _read_number(one, part) for one in bounds
            )
            # A single value with a step goes on to the last.
            end = ends[0] if ends else (last if steps else begin)
        if not first <= begin <= end <= last:
            raise ValueError(f"{part} is not between {first} and {last}")
        if not step:
            raise ValueError(f"{part} has a step of 0")
        values.update(range(begin, end + 1, step))
    return frozenset(values), is_star


def _read_number(text: str, part: str) -> int:
    if not re.fullmatch(r"\+?[0-9]+", text):
        raise ValueError(f"{part} is no number, range or step")
    return int(text)
