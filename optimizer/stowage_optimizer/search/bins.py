"""Devices that pods share or that overlap: who has which, and in what order pods come.

The search gives a pod the devices that fit best. The scheduler does not: it gives each
pod that comes the first ones that serve it. So what the search finds is a plan only
where some order is known in which first fit finds room for all that come; `arrange`
looks for one. That pods leave never comes into it: all who do go before anybody comes.

Where it is not found, pods count as not fitting. That may leave a plan unseen, and never makes one that cannot be
carried out.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stowage_optimizer.model.bins import MOST_DEVICES
from stowage_optimizer.model.problem import Flags, Indices, Ints, Problem
from stowage_optimizer.search.compiling import compiled, inlined
from stowage_optimizer.search.search_arrays import Floats

MOST_STEPS = 4_000
"""Steps of each search for the contents of a node, or for an order."""

DEEPEST = 512
"""Devices of the pods of one search."""

AT_HOME = -1
"""Instead of how many options a pod has: it keeps what it holds."""

ITEM_AT, REQUEST, CHOICE, NUMBER, BEGIN, OPTION = range(6)
"""Columns of `SearchBins.stack`."""


class SearchBins(NamedTuple):
    """Who has which devices now, the tables that say who may, and scratch space.

    Parameters
    ----------
    layout, slot, twin, start, option, take, ask, asked, request, home, home_option
        As in `Bins`.
    empty, kept
        `Bins.left` and `Bins.held`.
    distinct
        How many devices by choice.
    kind, home_node
        By item.
    size
        Share of a device that pods ask for, by kind.
    left, held
        What is free now, and how many holdings there are.
    chosen, saved
        How many options an item has, or `AT_HOME`; and which; shape ``(items, 1 + MOST_DEVICES)``.
    shut
        Nodes to which nobody comes for devices.
    head, after
        Lists of the items on each node that have devices.
    draft, trial, stack, order, tried, key, members, left_before, held_before, steps
        Scratch.
    """

    layout: Indices
    slot: Indices
    twin: Indices
    start: Indices
    option: Indices
    take: Ints
    ask: Indices
    asked: Indices
    request: Indices
    home: Indices
    home_option: Indices
    empty: Ints
    kept: Indices
    distinct: Indices
    kind: Indices
    home_node: Indices
    size: Floats
    left: Ints
    held: Indices
    chosen: Indices
    saved: Indices
    shut: Flags
    head: Indices
    after: Indices
    draft: Indices
    trial: Indices
    stack: Indices
    order: Indices
    tried: Indices
    key: Indices
    members: Indices
    left_before: Ints
    held_before: Indices
    steps: Ints


def make_bins(problem: Problem) -> SearchBins | None:
    """Return the devices of ``problem`` with nobody on any node; None if no pod asks for any."""
    bins = problem.bins
    if bins is None:
        return None
    items, nodes = len(problem.kind), len(bins.layout)
    options = np.zeros((items, 1 + MOST_DEVICES), np.int32)
    return SearchBins(
        layout=bins.layout,
        slot=bins.slot,
        twin=bins.twin,
        start=bins.start,
        option=bins.option,
        take=bins.take,
        ask=bins.ask,
        asked=bins.asked,
        request=bins.request,
        home=bins.home,
        home_option=bins.home_option,
        empty=bins.left,
        kept=bins.held,
        distinct=np.ascontiguousarray(bins.choice[:, 0]),
        kind=problem.kind,
        home_node=problem.home,
        size=bins.shares,
        left=bins.left.copy(),
        held=bins.held.copy(),
        chosen=options,
        saved=options.copy(),
        shut=np.zeros(nodes, np.bool_),
        head=np.full(nodes, -1, np.int32),
        after=np.full(items, -1, np.int32),
        draft=np.zeros(MOST_DEVICES + 1, np.int32),
        trial=options.copy(),
        stack=np.zeros((DEEPEST, 6), np.int32),
        order=np.zeros(items + 1, np.int32),
        tried=np.zeros(items + 1, np.int32),
        key=np.zeros(items + 1, np.int32),
        members=np.zeros(items + 1, np.int32),
        left_before=np.zeros(bins.left.shape[1], np.int64),
        held_before=np.zeros(bins.held.shape[1], np.int32),
        steps=np.zeros(1, np.int64),
    )


@inlined
def asks(item: int, bins: SearchBins) -> bool:
    """Return whether ``item`` has anything to do with devices."""
    kind = bins.kind[item]
    return bool(bins.ask[kind] < bins.ask[kind + 1])


@inlined
def _has_room(row: Indices, at: int, bins: SearchBins) -> bool:
    end = row[3] if bins.held[at, row[0]] == 0 else row[2]
    fits = True
    for index in range(row[1], end):
        fits &= bins.take[index, 1] <= bins.left[at, bins.take[index, 0]]
    return fits


@inlined
def _hold(row: Indices, at: int, bins: SearchBins) -> None:
    end = row[3] if bins.held[at, row[0]] == 0 else row[2]
    for index in range(row[1], end):
        bins.left[at, bins.take[index, 0]] -= bins.take[index, 1]
    bins.held[at, row[0]] += 1


@inlined
def _release(row: Indices, at: int, bins: SearchBins) -> None:
    bins.held[at, row[0]] -= 1
    end = row[3] if bins.held[at, row[0]] == 0 else row[2]
    for index in range(row[1], end):
        bins.left[at, bins.take[index, 0]] += bins.take[index, 1]


@inlined
def _find(item: int, at: int, bins: SearchBins, keep: bool) -> bool:
    """Find devices for ``item``, which are in ``draft`` then; hold them only if it is to ``keep`` them.

    A share of one device goes where least is left; all else to the first that serve it.
    """
    found, taken = True, 0
    if bins.home_node[item] == at:
        first, end = bins.home[item], bins.home[item + 1]
        for index in range(first, end):
            if found and _has_room(bins.home_option[index], at, bins):
                _hold(bins.home_option[index], at, bins)
                taken += 1
            else:
                found = False
        if not (found and keep):
            for index in range(first, first + taken):
                _release(bins.home_option[index], at, bins)
        bins.draft[0] = AT_HOME
        return found
    layout, kind = bins.layout[at], bins.kind[item]
    if layout < 0:
        return False
    for asked in range(bins.ask[kind], bins.ask[kind + 1]):
        if not found:
            break
        found = False
        for choice in range(bins.request[bins.asked[asked], 0], bins.request[bins.asked[asked], 1]):
            before, position = taken, bins.start[layout, choice]
            end = bins.start[layout, choice + 1]
            number = bins.distinct[choice]
            for _ in range(number):
                best = _best(position, end, number == 1, at, bins)
                if best < 0:
                    break
                _hold(bins.option[best], at, bins)
                taken += 1
                bins.draft[taken] = best
                position = best + 1
            if taken - before == number:
                found = True
                break
            while taken > before:
                _release(bins.option[bins.draft[taken]], at, bins)
                taken -= 1
    bins.draft[0] = taken
    if not (found and keep):
        for index in range(taken):
            _release(bins.option[bins.draft[1 + index]], at, bins)
    return found


@inlined
def _best(position: int, end: int, tightest: bool, at: int, bins: SearchBins) -> int:
    """Return the option with room from ``position`` on that has least left, or the first; -1 for none."""
    best, least = -1, np.int64(0)
    for option in range(position, end):
        if not _has_room(bins.option[option], at, bins):
            continue
        if not tightest or bins.option[option, 1] == bins.option[option, 2]:
            return option
        rest = bins.left[at, bins.take[bins.option[option, 1], 0]]
        if best < 0 or rest < least:
            best, least = option, rest
    return best


@inlined
def devices_fit(item: int, at: int, bins: SearchBins) -> bool:
    """Return whether there are devices for ``item`` on ``at``, beside those that others have now."""
    return not asks(item, bins) or _find(item, at, bins, False)


@inlined
def give(item: int, at: int, bins: SearchBins) -> bool:
    """Give ``item`` devices of ``at``; return whether there were any.

    A pod at home keeps its own even if others have them too.
    """
    if not asks(item, bins):
        return True
    found = _find(item, at, bins, True)
    if bins.home_node[item] == at:
        if not found:
            _keep(item, at, bins)
        bins.chosen[item, 0] = AT_HOME
        return found
    number = bins.draft[0] if found else 0
    bins.chosen[item, 0] = number
    for index in range(number):
        bins.chosen[item, 1 + index] = bins.draft[1 + index]
    return found


@inlined
def _keep(item: int, at: int, bins: SearchBins) -> None:
    for index in range(bins.home[item], bins.home[item + 1]):
        _hold(bins.home_option[index], at, bins)


@inlined
def give_back(item: int, at: int, bins: SearchBins) -> None:
    """Take from ``item`` what it has on ``at``; the exact inverse of `give`."""
    if not asks(item, bins):
        return
    number = bins.chosen[item, 0]
    if number == AT_HOME:
        for index in range(bins.home[item], bins.home[item + 1]):
            _release(bins.home_option[index], at, bins)
    for index in range(number):
        _release(bins.option[bins.chosen[item, 1 + index]], at, bins)


@inlined
def remember(item: int, bins: SearchBins) -> None:
    """Note what ``item`` has, before it is taken from it."""
    if asks(item, bins):
        for index in range(max(0, bins.chosen[item, 0]) + 1):
            bins.saved[item, index] = bins.chosen[item, index]


@inlined
def give_again(item: int, at: int, bins: SearchBins) -> None:
    """Give ``item`` the devices that were remembered."""
    if not asks(item, bins):
        return
    number = bins.saved[item, 0]
    bins.chosen[item, 0] = number
    if number == AT_HOME:
        _keep(item, at, bins)
    for index in range(number):
        bins.chosen[item, 1 + index] = bins.saved[item, 1 + index]
        _hold(bins.option[bins.chosen[item, 1 + index]], at, bins)


@inlined
def whole_shares(at: int, bins: SearchBins) -> float:
    """Return how much what is free of shared devices is in few of them, 1 for each that is idle."""
    total, layout = 0.0, bins.layout[at]
    if layout < 0:
        return total
    for device in range(bins.held.shape[1]):
        slot = bins.slot[layout, device]
        if slot < bins.slot[layout, device + 1] and bins.empty[at, slot] > 1:
            free = bins.left[at, slot] / bins.empty[at, slot]
            total += free * free
    return total


@compiled
def arrange(at: int, members: Indices, number: int, bins: SearchBins) -> int:
    """Find an order in which first fit has devices for all, and give them those.

    Parameters
    ----------
    members
        The first ``number`` are the items on ``at`` that ask for devices.

    Returns
    -------
    int
        How many come: ``order`` begins with them. -1, with everything as it was, if none was found.
    """
    for slot in range(bins.left.shape[1]):
        bins.left_before[slot] = bins.left[at, slot]
    for device in range(bins.held.shape[1]):
        bins.held_before[device] = bins.held[at, device]
    coming = 0
    for index in range(number):
        if bins.home_node[members[index]] != at:
            _insert(members[index], coming, bins)
            coming += 1
    bins.steps[0] = MOST_STEPS
    if not (_come_largest_first(coming, at, members, number, bins) or _come_somehow(coming, at, members, number, bins)):
        for slot in range(bins.left.shape[1]):
            bins.left[at, slot] = bins.left_before[slot]
        for device in range(bins.held.shape[1]):
            bins.held[at, device] = bins.held_before[device]
        return -1
    for index in range(number):
        item = members[index]
        if bins.home_node[item] == at:
            bins.chosen[item, 0] = AT_HOME
            continue
        for column in range(bins.trial[item, 0] + 1):
            bins.chosen[item, column] = bins.trial[item, column]
    return coming


@inlined
def _insert(item: int, length: int, bins: SearchBins) -> None:
    """Put ``item`` among those in order, the largest first."""
    kind = bins.kind[item]
    slot = length
    while slot > 0:
        other = bins.order[slot - 1]
        size = bins.size[bins.kind[other]]
        if size > bins.size[kind] or (size == bins.size[kind] and (bins.kind[other], other) < (kind, item)):
            break
        bins.order[slot] = other
        slot -= 1
    bins.order[slot] = item


@inlined
def _only_those_who_stay(at: int, members: Indices, number: int, bins: SearchBins) -> None:
    for slot in range(bins.left.shape[1]):
        bins.left[at, slot] = bins.empty[at, slot]
    for device in range(bins.held.shape[1]):
        bins.held[at, device] = bins.kept[at, device]
    for index in range(number):
        if bins.home_node[members[index]] == at:
            _keep(members[index], at, bins)


@inlined
def _come_largest_first(coming: int, at: int, members: Indices, number: int, bins: SearchBins) -> bool:
    _only_those_who_stay(at, members, number, bins)
    if coming == 0:
        return True
    return bool(bins.layout[at] >= 0 and not bins.shut[at] and _come_in_order(coming, at, bins))


@inlined
def _come_in_order(coming: int, at: int, bins: SearchBins) -> bool:
    """Have the first ``coming`` in order come one by one; return whether there were devices for all."""
    index = 0
    while index < coming and _come(index, index + 1, at, bins):
        index += 1
    return index == coming


@inlined
def _come_somehow(coming: int, at: int, members: Indices, number: int, bins: SearchBins) -> bool:
    """Find contents first, and an order from that; or else an order by trying."""
    if bins.layout[at] < 0 or bins.shut[at]:
        return False
    _only_those_who_stay(at, members, number, bins)
    bins.steps[0] = MOST_STEPS
    if _come(0, coming, at, bins):
        for sense in range(2):
            for index in range(coming):
                item = bins.order[index]
                device = bins.option[bins.trial[item, 1], 0]
                for column in range(2, bins.trial[item, 0] + 1):
                    other = bins.option[bins.trial[item, column], 0]
                    device = max(device, other) if sense == 0 else min(device, other)
                bins.key[item] = device
            _sort(coming, bins)
            _only_those_who_stay(at, members, number, bins)
            bins.steps[0] = MOST_STEPS
            if _come_in_order(coming, at, bins):
                return True
            # What first fit tried has overwritten the contents.
            _only_those_who_stay(at, members, number, bins)
            bins.steps[0] = MOST_STEPS
            if not _come(0, coming, at, bins):
                break
    _only_those_who_stay(at, members, number, bins)
    bins.steps[0] = MOST_STEPS
    return _try_orders(coming, at, bins)


@inlined
def _sort(coming: int, bins: SearchBins) -> None:
    """Sort those in order by their keys."""
    for index in range(1, coming):
        item, slot = bins.order[index], index
        while slot > 0 and bins.key[bins.order[slot - 1]] > bins.key[item]:
            bins.order[slot] = bins.order[slot - 1]
            slot -= 1
        bins.order[slot] = item


@inlined
def _try_orders(coming: int, at: int, bins: SearchBins) -> bool:
    """Have pods come in every order, as far as the steps last."""
    depth = 0
    bins.tried[0] = 0
    while bins.steps[0] > 0:
        if bins.tried[depth] == coming - depth:
            if depth == 0:
                return False
            depth -= 1
            item = bins.order[depth]
            for column in range(1, bins.trial[item, 0] + 1):
                _release(bins.option[bins.trial[item, column]], at, bins)
            _swap(depth, depth + bins.tried[depth], bins)
            bins.tried[depth] += 1
            continue
        candidate = depth + bins.tried[depth]
        alike = False
        for index in range(depth, candidate):
            alike |= bins.kind[bins.order[index]] == bins.kind[bins.order[candidate]]
        _swap(depth, candidate, bins)
        if not alike and _come(depth, depth + 1, at, bins):
            depth += 1
            if depth == coming:
                return True
            bins.tried[depth] = 0
        else:
            _swap(depth, candidate, bins)
            bins.tried[depth] += 1
    return False


@inlined
def _swap(one: int, other: int, bins: SearchBins) -> None:
    first = bins.order[one]
    bins.order[one] = bins.order[other]
    bins.order[other] = first


@inlined
def _come(first: int, last: int, at: int, bins: SearchBins) -> bool:
    """Give devices to the items from ``first`` to ``last`` in order, depth first.

    For one item that is the scheduler's rule. A request's devices go forwards only; where no more serve it, other
    devices of the same alternative, then other alternatives, then other devices of the requests before are tried. Of
    devices that are alike only the first is.
    """
    layout, index, depth = bins.layout[at], first, 0
    asked = bins.ask[bins.kind[bins.order[index]]]
    choice, number = bins.request[bins.asked[asked], 0], 0
    begin = bins.start[layout, choice]
    position = begin
    found = False
    while bins.steps[0] > 0:
        bins.steps[0] -= 1
        if number == bins.distinct[choice]:
            asked += 1
            if asked == bins.ask[bins.kind[bins.order[index]] + 1]:
                index += 1
                if index == last:
                    found = True
                    break
                asked = bins.ask[bins.kind[bins.order[index]]]
            choice, number = bins.request[bins.asked[asked], 0], 0
            begin = bins.start[layout, choice]
            position = begin
            continue
        option = -1
        if depth < DEEPEST:
            option = _next(position, begin, bins.start[layout, choice + 1], at, bins)
        if option >= 0:
            _hold(bins.option[option], at, bins)
            bins.stack[depth, ITEM_AT] = index
            bins.stack[depth, REQUEST] = asked
            bins.stack[depth, CHOICE] = choice
            bins.stack[depth, NUMBER] = number
            bins.stack[depth, BEGIN] = begin
            bins.stack[depth, OPTION] = option
            depth += 1
            number += 1
            begin = option + 1
            position = begin
        elif number == 0 and choice + 1 < bins.request[bins.asked[asked], 1]:
            choice += 1
            begin = bins.start[layout, choice]
            position = begin
        elif depth > 0:
            depth -= 1
            index, asked = bins.stack[depth, ITEM_AT], bins.stack[depth, REQUEST]
            choice, number = bins.stack[depth, CHOICE], bins.stack[depth, NUMBER]
            begin, option = bins.stack[depth, BEGIN], bins.stack[depth, OPTION]
            _release(bins.option[option], at, bins)
            position = option + 1
        else:
            break
    if not found:
        while depth > 0:
            depth -= 1
            _release(bins.option[bins.stack[depth, OPTION]], at, bins)
        return False
    for row in range(first, last):
        bins.trial[bins.order[row], 0] = 0
    for row in range(depth):
        item = bins.order[bins.stack[row, ITEM_AT]]
        bins.trial[item, 0] += 1
        bins.trial[item, bins.trial[item, 0]] = bins.stack[row, OPTION]
    return True


@inlined
def _next(position: int, begin: int, end: int, at: int, bins: SearchBins) -> int:
    """Return the first option with room from ``position`` on; none from ``begin`` on is like it."""
    for option in range(position, end):
        if not _has_room(bins.option[option], at, bins):
            continue
        alike = False
        for other in range(begin, option):
            if _alike(bins.option[other, 0], bins.option[option, 0], at, bins):
                alike = True
                break
        if not alike:
            return option
    return -1


@inlined
def _alike(one: int, other: int, at: int, bins: SearchBins) -> bool:
    """Return whether two devices serve alike, and as much is left of one as of the other."""
    layout = bins.layout[at]
    if bins.twin[layout, one] != bins.twin[layout, other]:
        return False
    first, second = bins.slot[layout, one], bins.slot[layout, other]
    for slot in range(bins.slot[layout, one + 1] - first):
        if bins.left[at, first + slot] != bins.left[at, second + slot]:
            return False
    return True


@compiled
def give_to_all(node: Indices, bins: SearchBins) -> int:
    """Give devices to all items that are on a node, and return on how many nodes no order was found for that."""
    for at in range(len(bins.layout)):
        bins.head[at] = -1
    for item in range(len(node)):
        if node[item] >= 0 and asks(item, bins):
            join(item, node[item], bins)
    failed = 0
    for at in range(len(bins.layout)):
        number = _list(at, bins)
        if arrange(at, bins.members, number, bins) >= 0:
            continue
        # The search goes on with what there is: an answer is arranged anew, and repaired.
        failed += 1
        _only_those_who_stay(at, bins.members, number, bins)
        for index in range(number):
            item = bins.members[index]
            if bins.home_node[item] == at:
                bins.chosen[item, 0] = AT_HOME
            else:
                give(item, at, bins)
    return failed


@compiled
def shut_without_order(bins: SearchBins) -> int:
    """Arrange every node, and shut those where no order is found; return how many."""
    failed = 0
    for at in range(len(bins.layout)):
        if arrange(at, bins.members, _list(at, bins), bins) < 0:
            bins.shut[at] = True
            failed += 1
    return failed


@inlined
def _list(at: int, bins: SearchBins) -> int:
    """Write the items on ``at`` that have devices to ``members``; return how many."""
    number, item = 0, bins.head[at]
    while item >= 0:
        bins.members[number] = item
        number += 1
        item = bins.after[item]
    return number


@inlined
def join(item: int, at: int, bins: SearchBins) -> None:
    """Add ``item`` to those on ``at`` that have devices."""
    bins.after[item] = bins.head[at]
    bins.head[at] = item


@inlined
def part(item: int, at: int, bins: SearchBins) -> None:
    """Remove ``item`` from those on ``at``."""
    if bins.head[at] == item:
        bins.head[at] = bins.after[item]
        return
    other = bins.head[at]
    while bins.after[other] != item:
        other = bins.after[other]
    bins.after[other] = bins.after[item]


@inlined
def comes_in(item: int, at: int, bins: SearchBins) -> bool:
    """Give ``item`` devices of ``at``, and others to those there if need be; return whether that can be done.

    A pod may stay where it has what others have too, as long as nobody comes.
    """
    if not asks(item, bins):
        return True
    stays = bins.home_node[item] == at
    if bins.shut[at] and not stays:
        return False
    if devices_fit(item, at, bins) or (stays and not _anybody_came(at, bins)):
        give(item, at, bins)
        join(item, at, bins)
        return True
    number = _list(at, bins)
    bins.members[number] = item
    if arrange(at, bins.members, number + 1, bins) < 0:
        return False
    join(item, at, bins)
    return True


@inlined
def _anybody_came(at: int, bins: SearchBins) -> bool:
    item = bins.head[at]
    while item >= 0:
        if bins.home_node[item] != at:
            return True
        item = bins.after[item]
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
            (item, bins.chosen[item, 1 : 1 + bins.chosen[item, 0]].copy())
            for item in bins.order[: max(0, coming)].tolist()
        ]

    def _arrange(self, node: int, members: Sequence[int]) -> int:
        self._bins.members[: len(members)] = members
        return arrange(node, self._bins.members, len(members), self._bins)
