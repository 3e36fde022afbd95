"""Whole nodes: who comes in beside those who are there, and in what order all do."""

from collections.abc import Sequence

import numpy as np

from stowage_optimizer.model.problem import Indices, Problem
from stowage_optimizer.search.compiling import compiled, inlined
from stowage_optimizer.search.device_choice import asks, give, give_back, keep, slots_of
from stowage_optimizer.search.device_order import arrange, join, list_members
from stowage_optimizer.search.device_state import (
    AFTER,
    ASK,
    AT,
    AT_HOME,
    CHOSEN,
    COUNTS,
    END,
    FIRST,
    HEAD,
    KIND,
    LAYOUT,
    LEFT,
    MEMBERS,
    OF_LAYOUT,
    ORDER,
    SHUT,
    SearchBins,
    make_bins,
)


@compiled
def give_to_all(node: Indices, bins: SearchBins) -> int:
    """Give devices to all items that are on a node, and return on how many nodes no order was found for that."""
    for at in range(len(bins.nodes)):
        bins.nodes[at, HEAD] = -1
    for item in range(len(node)):
        if node[item] >= 0 and asks(item, bins):
            join(item, node[item], bins)
    failed = 0
    for at in range(len(bins.nodes)):
        number = list_members(at, bins)
        if arrange(at, number, bins) >= 0:
            continue
        # The search goes on with what there is: an answer is arranged anew, and repaired.
        failed += 1
        for index in range(number):
            give(bins.scratch[MEMBERS, index], at, bins)
    return failed


@compiled
def shut_without_order(bins: SearchBins) -> int:
    """Arrange every node, and shut those where no order is found; return how many."""
    failed = 0
    for at in range(len(bins.nodes)):
        if arrange(at, list_members(at, bins), bins) < 0:
            bins.nodes[at, SHUT] = 1
            failed += 1
    return failed


@inlined
def comes_in(item: int, at: int, bins: SearchBins) -> bool:
    """Give ``item`` devices of ``at``, and others to those there if need be; return whether that can be done.

    A pod may stay where it has what others have too, as long as nobody comes.
    """
    if not asks(item, bins):
        return True
    stays = bins.items[item, AT] == at
    if bins.nodes[at, SHUT] != 0 and not stays:
        return False
    if not _anybody_came(at, bins) and stays:
        keep(item, at, bins)
        bins.picks[CHOSEN, item, 0] = AT_HOME
    elif not give(item, at, bins):
        if stays:
            give_back(item, at, bins)
        number = list_members(at, bins)
        bins.scratch[MEMBERS, number] = item
        if not _may_suffice(item, at, bins):
            return False
        if arrange(at, number + 1, bins) < 0:
            return False
    join(item, at, bins)
    return True


@inlined
def _may_suffice(item: int, at: int, bins: SearchBins) -> bool:
    """Return whether as much is left on ``at``, of whatever, as ``item`` asks for at least."""
    left = np.int64(0)
    for slot in range(slots_of(bins)):
        left += max(0, bins.room[LEFT, at, slot])
    kind, layout, asked = bins.items[item, KIND], bins.nodes[at, LAYOUT], np.int64(0)
    if layout < 0:
        return False
    for wish in range(bins.kinds[kind, ASK], bins.kinds[kind + 1, ASK]):
        least = left + 1
        for choice in range(bins.wish[wish, 0], bins.wish[wish, 1]):
            for option in range(bins.start[OF_LAYOUT + layout, choice], bins.start[OF_LAYOUT + layout, choice + 1]):
                amount = np.int64(0)
                for take in range(bins.option[option, FIRST], bins.option[option, END]):
                    amount += bins.take[take, 1]
                least = min(least, bins.start[COUNTS, choice] * amount)
        asked += least
    return bool(asked <= left)


@inlined
def _anybody_came(at: int, bins: SearchBins) -> bool:
    item = bins.nodes[at, HEAD]
    while item >= 0:
        if bins.items[item, AT] != at:
            return True
        item = bins.items[item, AFTER]
    return False


def arranger_of(problem: Problem) -> "Arranger | None":
    """Return what says in what order pods can come; None if no pod asks for devices."""
    bins = make_bins(problem)
    return None if bins is None else Arranger(problem, bins)


class Arranger:
    """Says in what order pods can come to a node, and which devices they get then.

    Not to be shared between threads.
    """

    def __init__(self, problem: Problem, bins: SearchBins) -> None:
        self._bins = bins
        self._kind = problem.kind
        self._home = problem.home
        self._known: dict[tuple[int, ...], bool] = {}

    def fits(self, node: int, members: Sequence[int]) -> bool:
        """Return whether an order is known in which ``members`` that are not at home come to ``node``."""
        if all(self._home[item] == node for item in members):
            return True
        alike = [-1 - item if self._home[item] == node else int(self._kind[item]) for item in members]
        key = (node, *sorted(alike))
        if key not in self._known:
            self._known[key] = self._arrange(node, members) >= 0
        return self._known[key]

    def arrivals(self, node: int, members: Sequence[int]) -> list[tuple[int, tuple[int, ...]]] | None:
        """Return who comes in which order, and the devices of each in the order of its requests; None if unknown."""
        if self._arrange(node, members) < 0:
            return None
        return [(item, tuple(self._bins.option[options, 0].tolist())) for item, options in self.given(node, members)]

    def given(self, node: int, members: Sequence[int]) -> list[tuple[int, Indices]]:
        """Return who comes in which order, and the options of each; nobody if no order is known."""
        coming, bins = self._arrange(node, members), self._bins
        return [
            (item, bins.picks[CHOSEN, item, 1 : 1 + bins.picks[CHOSEN, item, 0]].copy())
            for item in bins.scratch[ORDER, : max(0, coming)].tolist()
        ]

    def _arrange(self, node: int, members: Sequence[int]) -> int:
        self._bins.scratch[MEMBERS, : len(members)] = members
        return arrange(node, len(members), self._bins)
