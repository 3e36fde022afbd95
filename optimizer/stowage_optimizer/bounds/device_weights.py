"""Devices that pods share or that overlap, as one more resource or a few: a relaxation.

For any weights of the requests, what is on a node weighs no more than the heaviest contents of its devices together.
So a pod may take the weight of its requests, and a node offer that of these contents; who gets which device is left
out. Bounds of such a packing are bounds of the one with devices. Weights that are the prices of a linear program over
contents of devices prove, alone, what that program does.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from stowage_optimizer.bounds.device_contents import Contents, Part, Unit, units_of_nodes
from stowage_optimizer.bounds.highs import Entries, LinearProgram
from stowage_optimizer.bounds.phase import Floats
from stowage_optimizer.model.bins import MOST_DEVICES, Bins
from stowage_optimizer.model.options import Clock
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.problem import NOWHERE, Flags, Ints

SCALE = 2**20
"""Weight of the heaviest content of a device that the weights are made for."""

MOST_WEIGHTS = 8
"""Resources at most that the devices become."""

MOST_UNITS = 48
"""Sorts of devices of a layout that the program knows, the most frequent ones."""

MOST_ROUNDS = 60
"""Rounds of the program."""

TIGHT = 1e-4
"""By what share the program's value may fall short of its bound."""

MISSING = 4.0
"""What a running pod without room costs in the program, by the most that any pod is worth."""

LEAST_SHARE = 0.02
"""Weights that are made for fewer of the devices are left out."""


def relaxed(packing: Packing, clock: Clock, deadline: float) -> Packing:
    """Return a packing without devices whose bounds hold for ``packing``.

    Items, kinds and nodes are the same, in the same order; there are more dimensions, by `Packing.device_weights`.
    """
    bins = packing.problem.bins
    if bins is None:
        return packing
    requests = _requests(packing, bins)
    units = units_of_nodes(bins, _homes(packing, bins))
    found = [_plain_weights(bins), *_Program(packing, bins, requests, units).weights(clock, deadline)]
    different = dict.fromkeys(tuple(one.tolist()) for one in found if one.any())
    return relaxed_by(packing, [np.array(one) for one in different][:MOST_WEIGHTS], units)


def relaxed_by(packing: Packing, weights: Sequence[Ints], units: Sequence[Counter[Unit]] | None = None) -> Packing:
    """Return the packing without devices that these weights make, each of shape ``(requests,)``.

    Whatever they are its bounds hold for ``packing``.
    """
    bins = packing.problem.bins
    if bins is None:
        return packing
    if units is None:
        units = units_of_nodes(bins, _homes(packing, bins))
    taken = _requests(packing, bins) @ np.array(weights, np.int64).reshape(len(weights), len(bins.request)).T
    offered = np.array([_offered(units, one, MOST_DEVICES * len(packing.kind)) for one in weights], np.int64)
    rooms = zip(packing.room, offered.reshape(len(weights), len(packing.room)).T.tolist(), strict=True)
    names = tuple(packing.snapshot.device_requests)
    return replace(
        packing,
        room=tuple((*room, *more) for room, more in rooms),
        kinds=tuple(
            replace(kind, demand=(*kind.demand, *more))
            for kind, more in zip(packing.kinds, taken.tolist(), strict=True)
        ),
        bins=None,
        device_weights=tuple(
            {name: weight for name, weight in zip(names, one.tolist(), strict=True) if weight} for one in weights
        ),
    )


def _homes(packing: Packing, bins: Bins) -> list[tuple[int, int]]:
    holding = np.flatnonzero((np.diff(bins.home) > 0) & (packing.home != NOWHERE))
    return [(int(packing.home[item]), item) for item in holding.tolist()]


def _requests(packing: Packing, bins: Bins) -> Ints:
    """Return how many devices a pod is given by each request at least, shape ``(kinds, requests)``."""
    fewest = np.zeros(len(bins.request), np.int64)
    for request, (first, end) in enumerate(bins.request.tolist()):
        fewest[request] = bins.choice[first:end, 0].min(initial=MOST_DEVICES)
    counts = np.zeros((len(packing.kinds), len(fewest)), np.int64)
    for kind, one in enumerate(packing.kinds):
        np.add.at(counts[kind], list(one.requests), fewest[list(one.requests)])
    return counts


def _offered(units: Sequence[Counter[Unit]], weights: Ints, most: int) -> list[int]:
    """Return what the heaviest contents of each node's devices weigh."""
    contents = Contents(weights, most)
    return [sum(number * contents.of_unit(unit).worth for unit, number in one.items()) for one in units]


def _plain_weights(bins: Bins) -> Ints:
    """Return for each request what share it takes of a device, or of the counters that devices have in common."""
    weights = np.zeros(len(bins.request), np.int64)
    for layout in range(len(bins.start)):
        largest = np.maximum(1, bins.left[bins.layout == layout].max(axis=0, initial=1))
        alone, together = list[tuple[int, float]](), list[tuple[int, float]]()
        for choice, (_, request) in enumerate(bins.choice.tolist()):
            for _, first, end, opened in bins.option[slice(*bins.start[layout, choice : choice + 2])].tolist():
                takes = bins.take[end:opened] if opened > end else bins.take[first:end]
                shares = takes[:, 1] / largest[takes[:, 0]]
                if opened > end:
                    together.append((request, float(shares.sum())))
                else:
                    alone.append((request, float(shares.max(initial=0.0))))
        whole = max((share for _, share in together), default=1.0)
        for request, share in [*alone, *((request, share / whole) for request, share in together)]:
            weights[request] = max(weights[request], int(min(1.0, share) * SCALE))
    return weights


class _Program:
    """The linear program over contents of devices: nodes of a layout share all their room.

    Layouts of devices that serve the same requests are a family, whose contents are looked for together. Rows: kinds;
    by layout the resources, and devices by `_plain_weights`; by family what the requests are given; and the units of
    each sort. Columns: pods of a kind on nodes of a layout, and contents of a unit. Its prices are weights to try,
    never a proof.
    """

    def __init__(self, packing: Packing, bins: Bins, requests: Ints, units: Sequence[Counter[Unit]]) -> None:
        self.requests, self.most = requests, MOST_DEVICES * len(packing.kind)
        layouts = np.unique(bins.layout).tolist()
        members = [np.flatnonzero(bins.layout == layout) for layout in layouts]
        of_layout = [_total(units[node] for node in nodes.tolist()) for nodes in members]
        numbers: dict[frozenset[tuple[Part, ...]], int] = {}
        family = [numbers.setdefault(frozenset(unit.parts for unit in one), len(numbers)) for one in of_layout]
        self.units = [
            _total(one for one, at in zip(of_layout, family, strict=True) if at == number)
            for number in range(len(numbers))
        ]
        self.units = [Counter(dict(one.most_common(MOST_UNITS))) for one in self.units]
        self.pairs = [(at, unit) for at, one in enumerate(self.units) for unit in one]
        self.number = np.array([self.units[at][unit] for at, unit in self.pairs], float)
        self.program = self._begin(packing, bins, members, family, of_layout)

    def _begin(
        self, packing: Packing, bins: Bins, members: Sequence[Ints], family: Sequence[int],
        of_layout: Sequence[Counter[Unit]],
    ) -> LinearProgram:  # fmt: skip
        """Return the program with the columns of pods."""
        problem, (kinds, requests) = packing.problem, self.requests.shape
        plain = _plain_weights(bins)
        contents = Contents(plain, self.most)
        offered = [sum(number * contents.of_unit(unit).worth for unit, number in one.items()) for one in of_layout]
        room = np.array([np.maximum(problem.room[nodes], 0).sum(axis=0) for nodes in members], float)
        room = np.column_stack([room, offered])
        demand = np.column_stack([problem.demand, self.requests @ plain])
        width = room.shape[1]
        self.given = kinds + room.size
        self.first = self.given + len(self.units) * requests
        count = np.bincount(problem.kind, minlength=kinds).astype(float)
        running = np.bincount(problem.kind[problem.home != NOWHERE], minlength=kinds).astype(float)
        high = np.concatenate([count, np.ones(room.size), np.zeros(self.first - self.given), self.number])
        program = LinearProgram(np.concatenate([running, np.full(len(high) - kinds, -np.inf)]), high)
        fits = np.zeros((len(members), kinds), np.bool_)
        for number, nodes in enumerate(members):
            come: Flags = np.logical_or.reduce(problem.allowed[:, nodes], axis=1)
            fits[number] = come[problem.mask] & (problem.demand <= problem.room[nodes].max(axis=0)).all(axis=1)
        at, kind = np.nonzero(fits)
        column, of_family = np.arange(len(at)), np.array(family)[at]
        entries = [Entries(kind, column, np.ones(len(at)))]
        for dimension in range(width):
            share = demand[kind, dimension] / np.maximum(room[at, dimension], 1)
            entries.append(_entries(kinds + at * width + dimension, column, share))
        for request in range(requests):
            entries.append(_entries(self.given + of_family * requests + request, column, self.requests[kind, request]))
        worth = np.array([one.worth for one in packing.kinds], float)
        program.add_columns(-worth[kind], count[kind], entries)
        missing = np.flatnonzero(running)
        own = Entries(missing, np.arange(len(missing)), np.ones(len(missing)))
        program.add_columns(np.full(len(missing), MISSING * worth.max()), running[missing], [own])
        return program

    def weights(self, clock: Clock, deadline: float) -> list[Ints]:
        """Return weights, those that are made for most of the devices first."""
        self._add([(number, one) for number in range(len(self.pairs)) for one in self._first(number)])
        best, lowest = None, np.inf
        for _ in range(MOST_ROUNDS):
            found = self.program.minimum(deadline - clock())
            if found is None:
                break
            value, dual = -found.value, np.maximum(0, -found.dual)
            price = dual[self.given : self.first].reshape(len(self.units), -1)
            scale = SCALE / max(price.max(), 1e-9)
            contents = [Contents(np.rint(one * scale).astype(np.int64), self.most) for one in price]
            each = [contents[at].of_unit(unit) for at, unit in self.pairs]
            over = np.array([one.worth for one in each]) / scale - dual[self.first :]
            bound = value + float(np.maximum(0.0, over) @ self.number)
            if bound < lowest:
                best, lowest = price, bound
            if bound - value <= TIGHT * abs(value) or clock() > deadline:
                break
            self._add([(number, one.grants) for number, one in enumerate(each) if over[number] > 0])
        return [] if best is None else self._ranked(best)

    def _first(self, number: int) -> list[Ints]:
        """Return contents of a unit to begin with: of each request by itself."""
        at, unit = self.pairs[number]
        if unit != self.units[at].most_common(1)[0][0]:
            return []
        alone = np.eye(self.requests.shape[1], dtype=np.int64)
        return [Contents(one, self.most).of_unit(unit).grants for one in alone]

    def _add(self, found: Sequence[tuple[int, Ints]]) -> None:
        """Add contents of units."""
        found = [one for one in found if one[1].any()]
        if not found:
            return
        number, grants = np.array([one for one, _ in found]), np.array([one for _, one in found])
        at, column = np.array([self.pairs[one][0] for one in number.tolist()]), np.arange(len(found))
        requests = grants.shape[1]
        entries = [Entries(self.first + number, column, np.ones(len(found)))]
        for request in range(requests):
            entries.append(_entries(self.given + at * requests + request, column, -grants[:, request]))
        self.program.add_columns(np.zeros(len(found)), np.full(len(found), np.inf), entries)

    def _ranked(self, price: Floats) -> list[Ints]:
        made: defaultdict[tuple[int, ...], int] = defaultdict(int)
        total = sum(one.total() for one in self.units)
        for at, row in enumerate(price):
            if not row.any() or not self.units[at]:
                continue
            largest = Contents(np.rint(row / row.max() * SCALE).astype(np.int64), self.most)
            heaviest = max(largest.of_unit(unit).worth for unit in self.units[at])
            if not heaviest:
                continue
            weights = np.rint(row / row.max() * SCALE * SCALE / heaviest).astype(np.int64)
            made[tuple(weights.tolist())] += self.units[at].total()
        ranked = sorted(made.items(), key=lambda one: -one[1])
        return [np.array(one, np.int64) for one, number in ranked if number >= LEAST_SHARE * total]


def _total(units: Iterable[Counter[Unit]]) -> Counter[Unit]:
    total = Counter[Unit]()
    for one in units:
        total.update(one)
    return total


def _entries(row: Ints, column: Ints, value: Floats | Ints) -> Entries:
    some = np.flatnonzero(value)
    return Entries(row[some], column[some], value[some].astype(float))
