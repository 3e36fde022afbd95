"""Repairing any assignment: made feasible, without needless moves or displaced pods.

What `assignments.repair` does, compiled, with pending items placed too. Tier by tier
from the highest, items get the node they are wanted on; running ones without a node get
any; moved ones go home if they can. Each round is better by the objective than the one
before, so that the rounds end. Where pods ask for devices, an order must be known in
which those that come to a node can come. The rule for overcommitted nodes is the scheduler's: an
item may stay, and may come only where everything it asks for is there.
"""

import numpy as np

from stowage_optimizer.model.problem import NOWHERE, Flags, Indices, Ints, Problem
from stowage_optimizer.search.compiling import compiled, inlined
from stowage_optimizer.search.device_choice import asks, give_again, give_back, may_come_for_devices, remember
from stowage_optimizer.search.device_nodes import comes_in, shut_without_order
from stowage_optimizer.search.device_order import join, part
from stowage_optimizer.search.device_state import SearchBins, clear, make_bins, open_all
from stowage_optimizer.search.search_arrays import Floats

SHORTAGE = 1e3
"""What taking room that others want counts against room left over."""

STRICT_PASSES = ((True, False), (True, True), (False, False), (False, True))
"""Passes over a tier: running items or pending ones, where wanted or anywhere."""

PAPER_PASSES = ((True, False), (False, False), (True, True), (False, True))
"""The same for the paper's policy, where running items have no precedence."""


MOST_ROUNDS = 16
"""Rounds where pods ask for devices: each may find other devices, or none."""


class Repairer:
    """Repairs assignments of one problem; not to be shared between threads.

    Parameters
    ----------
    strict
        Whether running items are placed before pending ones of their tier.
    """

    def __init__(self, problem: Problem, *, strict: bool) -> None:
        self._problem = problem
        self._passes = np.array(STRICT_PASSES if strict else PAPER_PASSES, np.bool_)
        mean = np.maximum(problem.room, 0).sum(axis=0) / max(1, len(problem.room))
        self._inverse: Floats = 1 / np.maximum(mean, 1)
        sizes = (problem.demand * self._inverse).max(axis=1, initial=0.0)
        if problem.bins is not None:
            sizes = np.maximum(sizes, problem.bins.shares)
        size = sizes[problem.kind]
        tier = problem.tier[problem.kind]
        order = np.lexsort((-size, tier))
        self._order = order.astype(np.int32)
        self._starts = np.searchsorted(tier[order], np.arange(problem.tiers + 1))
        self._used = np.zeros_like(problem.room)
        self._newcomers = np.zeros_like(problem.room)
        self._spare = np.zeros_like(problem.room)
        self._failed = np.zeros(len(problem.demand), np.bool_)
        self._bins = make_bins(problem)

    def repair(self, wanted: Indices) -> Indices:
        """Return ``wanted`` repaired; both of shape ``(items,)``."""
        if self._bins is not None:
            return self._with_devices(wanted, self._bins)
        while not np.array_equal(repaired := self._one_round(wanted), wanted):
            wanted = repaired
        return repaired

    def _with_devices(self, wanted: Indices, bins: SearchBins) -> Indices:
        open_all(bins)
        rounds = 0
        while True:
            repaired = self._one_round(wanted)
            rounds += 1
            settled = rounds >= MOST_ROUNDS or np.array_equal(repaired, wanted)
            # Once nobody comes to a node, there is no order to be found.
            if settled and not shut_without_order(bins):
                return repaired
            wanted = repaired

    def _one_round(self, wanted: Indices) -> Indices:
        problem = self._problem
        node = np.full(len(wanted), NOWHERE, np.int32)
        self._used[:] = 0
        self._newcomers[:] = 0
        self._failed[:] = False
        self._spare[:] = problem.room
        if self._bins is not None:
            clear(self._bins)
        _want(wanted, problem.kind, problem.demand, self._spare)
        for tier in range(problem.tiers):
            members = self._order[self._starts[tier] : self._starts[tier + 1]]
            _one_tier(
                members, self._passes, wanted, node, problem.kind, problem.home, problem.demand,
                problem.mask, problem.allowed, problem.room, self._used, self._newcomers,
                self._spare, self._failed, self._inverse, self._bins,
            )  # fmt: skip
        return node


@compiled
def _want(wanted: Indices, kind: Indices, demand: Ints, spare: Ints) -> None:
    for item in range(len(wanted)):
        if wanted[item] >= 0:
            for dimension in range(demand.shape[1]):
                spare[wanted[item], dimension] -= demand[kind[item], dimension]


@compiled
def _one_tier(
    members: Indices, passes: Flags, wanted: Indices, node: Indices, kind: Indices,
    home: Indices, demand: Ints, mask: Indices, allowed: Flags, room: Ints, used: Ints,
    newcomers: Ints, spare: Ints, failed: Flags, inverse: Floats, bins: SearchBins | None,
) -> None:  # fmt: skip
    for number in range(len(passes)):
        _place(
            members, passes[number, 0], passes[number, 1], wanted, node, kind, home, demand, mask,
            allowed, room, used, newcomers, spare, failed, inverse, bins,
        )  # fmt: skip
    _send_home(members, node, kind, home, demand, room, used, newcomers, bins)


@inlined
def _place(
    members: Indices, running: bool, anywhere: bool, wanted: Indices, node: Indices,
    kind: Indices, home: Indices, demand: Ints, mask: Indices, allowed: Flags,
    room: Ints, used: Ints, newcomers: Ints, spare: Ints, failed: Flags,
    inverse: Floats, bins: SearchBins | None,
) -> None:  # fmt: skip
    for index in range(len(members)):
        item = members[index]
        if node[item] >= 0 or (home[item] >= 0) != running:
            continue
        at = home[item] if anywhere else wanted[item]
        if at >= 0 and not _enters(item, kind[item], at, home[item] != at, demand, room, used, newcomers, bins):
            at = -1
        if anywhere:
            if at < 0:
                at = _find(
                    item, kind[item], home[item], demand, mask, allowed, room, used, newcomers,
                    spare, failed, inverse, bins,
                )  # fmt: skip
            if at >= 0:
                for dimension in range(demand.shape[1]):
                    spare[at, dimension] -= demand[kind[item], dimension]
        if at >= 0:
            node[item] = at
            _count(kind[item], at, home[item] != at, 1, demand, used, newcomers)


@inlined
def _enters(
    item: int, kind: int, at: int, comes: bool, demand: Ints, room: Ints, used: Ints,
    newcomers: Ints, bins: SearchBins | None,
) -> bool:  # fmt: skip
    """Return whether ``item`` fits on ``at``; then it has its devices there."""
    fits = _fits(kind, at, comes, demand, room, used, newcomers)
    if bins is not None and fits:
        fits = comes_in(item, at, bins)
    return fits


@inlined
def _find(
    item: int, kind: int, home: int, demand: Ints, mask: Indices, allowed: Flags, room: Ints,
    used: Ints, newcomers: Ints, spare: Ints, failed: Flags, inverse: Floats,
    bins: SearchBins | None,
) -> int:  # fmt: skip
    """Return a node for one more of ``kind``, the best fit, -1 for none; it has its devices there.

    Room that no pod wants goes before room that a lower tier would have to leave.
    """
    best, least = -1, np.inf
    if failed[kind]:
        return best
    for at in range(len(room)):
        if not allowed[mask[kind], at]:
            continue
        if not _fits(kind, at, True, demand, room, used, newcomers):
            continue
        if bins is not None and not may_come_for_devices(item, at, bins):
            continue
        misfit = 0.0
        for dimension in range(demand.shape[1]):
            left = spare[at, dimension] - demand[kind, dimension]
            rest = left * inverse[dimension]
            misfit += rest if rest >= 0 else -SHORTAGE * rest
        if misfit < least:
            best, least = at, misfit
    if bins is not None:
        best = _comes_to_any(item, kind, best, home, demand, mask, allowed, room, used, newcomers, bins)
    failed[kind] = best < 0
    return best


@inlined
def _comes_to_any(
    item: int, kind: int, best: int, home: int, demand: Ints, mask: Indices, allowed: Flags,
    room: Ints, used: Ints, newcomers: Ints, bins: SearchBins,
) -> int:  # fmt: skip
    """Give ``item`` devices of ``best``, or have others make do with other devices for a pod that runs."""
    at = max(0, best)
    while at < len(room) and (best >= 0 or (home >= 0 and asks(item, bins))):
        open_to = best >= 0 or (allowed[mask[kind], at] and _fits(kind, at, True, demand, room, used, newcomers))
        if open_to and comes_in(item, at, bins):
            return at
        if best >= 0:
            break
        at += 1
    return -1


@inlined
def _fits(
    kind: int, at: int, comes: bool, demand: Ints, room: Ints, used: Ints,
    newcomers: Ints,
) -> bool:  # fmt: skip
    for dimension in range(demand.shape[1]):
        amount = demand[kind, dimension]
        if amount == 0 or used[at, dimension] + amount <= room[at, dimension]:
            continue
        if comes or newcomers[at, dimension] > 0:
            return False
    return True


@inlined
def _count(
    kind: int, at: int, comes: bool, sign: int, demand: Ints, used: Ints,
    newcomers: Ints,
) -> None:  # fmt: skip
    for dimension in range(demand.shape[1]):
        amount = demand[kind, dimension]
        used[at, dimension] += sign * amount
        if comes and amount > 0:
            newcomers[at, dimension] += sign


@inlined
def _send_home(
    members: Indices, node: Indices, kind: Indices, home: Indices, demand: Ints,
    room: Ints, used: Ints, newcomers: Ints, bins: SearchBins | None,
) -> None:  # fmt: skip
    for index in range(len(members)):
        item = members[index]
        at = node[item]
        if at < 0 or home[item] < 0 or at == home[item]:
            continue
        _count(kind[item], at, True, -1, demand, used, newcomers)
        if bins is not None and asks(item, bins):
            remember(item, bins)
            give_back(item, at, bins)
            part(item, at, bins)
        if _enters(item, kind[item], home[item], False, demand, room, used, newcomers, bins):
            at = home[item]
        elif bins is not None and asks(item, bins):
            give_again(item, at, bins)
            join(item, at, bins)
        node[item] = at
        _count(kind[item], at, at != home[item], 1, demand, used, newcomers)
