"""The most that the devices of nodes can hold, given what each request is worth there.

Devices that consume counters of a pool are looked at together, others one by one; those that are alike, with as much
left, are looked at once.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from stowage_optimizer.bounds.groups import mixes_of
from stowage_optimizer.bounds.pricing import best_patterns
from stowage_optimizer.model.bins import Bins
from stowage_optimizer.model.problem import Ints

BUDGET = 200_000
"""Steps on one device or unit before its bound is taken as its worth."""

Need = tuple[int, ...]


class Part(NamedTuple):
    """A device, as those are that are alike.

    Parameters
    ----------
    options
        What is taken of its own capacities by one that it serves, and whose request that is.
    opening
        What the first one takes of the unit's counters.
    """

    options: tuple[tuple[Need, int], ...]
    opening: Need


class Unit(NamedTuple):
    """Devices that no other shares counters with, and what is left of them.

    Parameters
    ----------
    rooms
        Of each device, by capacity.
    opened
        Whether somebody who stays holds the device, so that its counters are consumed already.
    counters
        What is left of them.
    """

    parts: tuple[Part, ...]
    rooms: tuple[Need, ...]
    opened: tuple[bool, ...]
    counters: Need


@dataclass(frozen=True, slots=True)
class Content:
    """A bound on what a unit's content is worth, and a content: how many devices each request is given of it."""

    worth: int
    grants: Ints


@dataclass(slots=True)
class Contents:
    """Looks for contents at one value of each request.

    Parameters
    ----------
    value
        Of a device that is given to the request, never negative, shape ``(requests,)``.
    most
        No request is given more devices than that; it only matters where nothing is taken of them.
    """

    value: Ints
    most: int
    _devices: dict[Hashable, Content] = field(default_factory=dict)
    _units: dict[Unit, Content] = field(default_factory=dict)

    def of_unit(self, unit: Unit) -> Content:
        """Return the most valuable content of ``unit``."""
        if unit not in self._units:
            self._units[unit] = self._unit(unit)
        return self._units[unit]

    def _unit(self, unit: Unit) -> Content:
        each = [self._device(part.options, room) for part, room in zip(unit.parts, unit.rooms, strict=True)]
        worth, grants = 0, np.zeros_like(self.value)
        choices: defaultdict[tuple[Need, int], list[Content]] = defaultdict(list)
        for part, opened, content in zip(unit.parts, unit.opened, each, strict=True):
            if opened or not any(part.opening):
                worth, grants = worth + content.worth, grants + content.grants
            elif content.worth > 0:
                choices[part.opening, content.worth].append(content)
        if not choices:
            return Content(worth, grants)
        more, taken = most_valuable([(need, value, len(of)) for (need, value), of in choices.items()], unit.counters)
        for number, of in zip(taken, choices.values(), strict=True):
            for content in of[:number]:
                grants = grants + content.grants
        return Content(worth + more, grants)

    def _device(self, options: tuple[tuple[Need, int], ...], room: Need) -> Content:
        """Return the most valuable content of one device."""
        key = options, room
        if key not in self._devices:
            choices = [(need, int(self.value[request]), self.most) for need, request in options]
            worth, taken = most_valuable(choices, room)
            grants = np.zeros_like(self.value)
            for (_, request), number in zip(options, taken, strict=True):
                grants[request] += number
            self._devices[key] = Content(worth, grants)
        return self._devices[key]


def most_valuable(choices: Sequence[tuple[Need, int, int]], room: Need) -> tuple[int, list[int]]:
    """Return a number that nothing that fits into ``room`` exceeds, and how often something good takes each choice.

    Parameters
    ----------
    choices
        Need, value, and how many there are.
    """
    fitting = [
        (at, need, value, number)
        for at, (need, value, number) in enumerate(choices)
        if value > 0 and all(n <= left for n, left in zip(need, room, strict=True) if n)
    ]
    taken = [0] * len(choices)
    if not fitting:
        return 0, taken
    least = [min(need[slot] for _, need, _, _ in fitting) for slot in range(len(room))]
    # Where not even two of the smallest fit, no search is needed.
    if any(need and 2 * need > left for need, left in zip(least, room, strict=True)):
        at, _, value, _ = max(fitting, key=lambda one: one[2])
        taken[at] = 1
        return value, taken
    demand = np.array([need for _, need, _, _ in fitting], np.int64).reshape(len(fitting), len(room))
    limit = np.array([number for _, _, _, number in fitting], np.int32)[None]
    # Of what is used up nobody takes anything: what is left of it need not count as less than nothing.
    rooms = np.maximum(np.array([room], np.int64), 0).reshape(1, len(room))
    values = np.array([value for _, _, value, _ in fitting], np.int64)
    if not len(room):
        demand, rooms = np.zeros((len(fitting), 1), np.int64), np.zeros((1, 1), np.int64)
    worth, best = np.zeros(1, np.int64), np.zeros((1, len(fitting), 2), np.int32)
    best_patterns(
        demand, rooms, np.zeros_like(limit), limit, values, np.zeros_like(values), mixes_of(demand, rooms)[None],
        np.zeros(1, np.int32), np.full(1, -1), 0, BUDGET, worth, best,
    )  # fmt: skip
    for (at, *_), number in zip(fitting, best[0, :, 1].tolist(), strict=True):
        taken[at] = number
    return int(worth[0]), taken


class _Place(NamedTuple):
    """Where the numbers of a unit stand in the rows of `Bins`."""

    parts: tuple[Part, ...]
    devices: tuple[int, ...]
    slots: tuple[tuple[int, ...], ...]
    counters: tuple[int, ...]


def units_of_nodes(bins: Bins, homes: Sequence[tuple[int, int]]) -> list[Counter[Unit]]:
    """Return the units of each node, with what is left of them at most.

    Parameters
    ----------
    homes
        Node and item of each item that runs and holds devices.
    """
    most = _most_left(bins, homes)
    places = [_places(bins, layout) for layout in range(len(bins.start))]
    known: dict[tuple[int, bytes, bytes], Counter[Unit]] = {}
    found = []
    for layout, left, held in zip(bins.layout.tolist(), most, bins.held, strict=True):
        if layout < 0:
            found.append(Counter[Unit]())
            continue
        key = layout, left.tobytes(), held.tobytes()
        if key not in known:
            known[key] = Counter(_units(places[layout], left.tolist(), held.tolist()))
        found.append(known[key])
    return found


def _most_left(bins: Bins, homes: Sequence[tuple[int, int]]) -> Ints:
    """Return what pods in play take of each slot at most, shape ``(nodes, slots)``.

    That is what is left, or where that is less, what is held now: pods may stay where there are too many of them.
    """
    used, seen = np.zeros_like(bins.left), set()
    for node, item in homes:
        for device, first, end, opened in bins.home_option[bins.home[item] : bins.home[item + 1]].tolist():
            opens = not bins.held[node, device] and (node, device) not in seen
            seen.add((node, device))
            takes = bins.take[first : opened if opens else end]
            np.add.at(used[node], takes[:, 0], takes[:, 1])
    return np.maximum(bins.left, used)


def _units(places: Sequence[_Place], left: list[int], held: list[int]) -> Iterator[Unit]:
    for place in places:
        yield Unit(
            place.parts,
            tuple(tuple(left[slot] for slot in slots) for slots in place.slots),
            tuple(held[device] > 0 for device in place.devices),
            tuple(left[slot] for slot in place.counters),
        )


def _places(bins: Bins, layout: int) -> list[_Place]:
    """Return the units of a layout; devices that serve no request are in none."""
    slot, options = bins.slot[layout].tolist(), defaultdict[int, list[tuple[int, tuple[int, ...]]]](list)
    for choice, (_, request) in enumerate(bins.choice.tolist()):
        for row in bins.option[bins.start[layout, choice] : bins.start[layout, choice + 1]].tolist():
            options[row[0]].append((request, tuple(row)))
    opening = {device: _taken(bins, rows[0][1][2], rows[0][1][3]) for device, rows in options.items()}
    made = []
    for devices in _joined({device: {counter for counter, _ in takes} for device, takes in opening.items()}):
        counters = sorted({counter for device in devices for counter, _ in opening[device]})
        parts, slots = [], []
        for device in devices:
            own = tuple(range(slot[device], slot[device + 1]))
            served = sorted(
                {(_need(own, _taken(bins, first, end)), request) for request, (_, first, end, _) in options[device]}
            )
            parts.append(Part(tuple(served), _need(counters, opening[device])))
            slots.append(own)
        made.append(_Place(tuple(parts), tuple(devices), tuple(slots), tuple(counters)))
    return made


def _taken(bins: Bins, first: int, end: int) -> list[tuple[int, int]]:
    return [(slot, amount) for slot, amount in bins.take[first:end].tolist() if amount]


def _need(slots: Sequence[int], takes: Sequence[tuple[int, int]]) -> Need:
    taken = dict(takes)
    return tuple(taken.get(slot, 0) for slot in slots)


def _joined(counters: dict[int, set[int]]) -> list[list[int]]:
    """Return the devices in parts that have no counter in common."""
    parts: list[tuple[list[int], set[int]]] = []
    for device, own in counters.items():
        apart = [one for one in parts if not one[1] & own]
        joined = [one for one in parts if one[1] & own]
        devices = sorted([device, *(each for one in joined for each in one[0])])
        parts = [*apart, (devices, own.union(*(one[1] for one in joined)))]
    return [devices for devices, _ in parts]
