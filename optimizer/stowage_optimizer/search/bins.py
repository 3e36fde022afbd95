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
from stowage_optimizer.model.problem import Indices, Ints, Problem
from stowage_optimizer.search.compiling import compiled, inlined
from stowage_optimizer.search.search_arrays import Floats

MOST_STEPS = 1_000
"""Steps of each search for the contents of a node, or for an order."""

DEEPEST = 512
"""Devices of the pods of one search."""

AT_HOME = -1
"""Instead of how many options a pod has: it keeps what it holds."""

IN_ORDER, CONTENTS, EVERY_ORDER = range(3)

ATTEMPTS = (IN_ORDER, CONTENTS, IN_ORDER, CONTENTS, IN_ORDER, EVERY_ORDER)
"""What `arrange` tries: the order follows from the contents found before it."""

LAST_FIRST = 2
"""The attempts before it sort by the last device of each, those after it by the first."""

ITEM_AT, REQUEST, CHOICE, NUMBER, BEGIN, OPTION = range(6)
"""Columns of `SearchBins.stack`."""


LAYOUT, SHUT, HEAD = range(3)
"""Columns of `SearchBins.nodes`."""

KIND, AT, HOME, AFTER = range(4)
"""Columns of `SearchBins.items`."""

LEFT, EMPTY, BEFORE = range(3)
"""Planes of `SearchBins.room`; the last is scratch."""

NOW, STAYING = range(2)
"""Planes of `SearchBins.holders`, besides ``BEFORE``."""

SLOT, TWIN = range(2)
"""Planes of `SearchBins.layouts`."""

CHOSEN, SAVED, TRIAL = range(3)
"""Planes of `SearchBins.picks`."""

DRAFT, ORDER, TRIED, KEY, MEMBERS = range(5)
"""Rows of `SearchBins.scratch`."""


class SearchBins(NamedTuple):
    """Who has which devices now, the tables that say who may, and scratch space.

    As few arrays as can be: each costs time where compiled functions hand them on, and more where they are compiled.

    Parameters
    ----------
    nodes
        Layout, whether nobody comes for devices, and the first of the items that have some, shape ``(nodes, 3)``.
    items
        Kind, home, first option of what is held there, and the next item of the node, shape ``(items + 1, 4)``.
    room
        What is left now, and beside those who stay anyway, shape ``(3, nodes, slots)``.
    holders
        How many holdings there are now, and of those who stay anyway, shape ``(3, nodes, devices)``.
    layouts
        `Bins.slot` and `Bins.twin`, shape ``(2, layouts, devices + 1)``.
    start, take
        As in `Bins`.
    option
        `Bins.option`, then `Bins.home_option`.
    ask, wish
        The requests of kind ``k`` are the rows ``ask[k]`` to ``ask[k + 1]``: first choice and end of the choices.
    distinct
        How many devices by choice.
    size, need
        `Bins.shares` and `Bins.needs`.
    picks
        How many options an item has, or `AT_HOME`, and which, shape ``(3, items, 1 + MOST_DEVICES)``.
    scratch
        Shape ``(5, items + 1)`` at least.
    stack
        Of the depth first search, shape ``(DEEPEST + 1, 6)``; the last row has the steps that are left.
    """

    nodes: Indices
    items: Indices
    room: Ints
    holders: Indices
    layouts: Indices
    start: Indices
    option: Indices
    take: Ints
    ask: Indices
    wish: Indices
    distinct: Indices
    size: Floats
    need: Ints
    picks: Indices
    scratch: Indices
    stack: Indices


def make_bins(problem: Problem) -> SearchBins | None:
    """Return the devices of ``problem`` with nobody on any node; None if no pod asks for any."""
    bins = problem.bins
    if bins is None:
        return None
    items, nodes = len(problem.kind), len(bins.layout)
    of_items = np.full((items + 1, 4), -1, np.int32)
    of_items[:items, KIND], of_items[:items, AT] = problem.kind, problem.home
    of_items[:, HOME] = len(bins.option) + bins.home
    layouts = np.zeros((2, *bins.slot.shape), np.int32)
    layouts[SLOT], layouts[TWIN, :, :-1] = bins.slot, bins.twin
    return SearchBins(
        nodes=np.column_stack([bins.layout, np.zeros(nodes, np.int32), np.full(nodes, -1, np.int32)]),
        items=of_items,
        room=np.stack([bins.left] * 3),
        holders=np.stack([bins.held] * 3),
        layouts=layouts,
        start=bins.start,
        option=np.concatenate([bins.option, bins.home_option]),
        take=bins.take,
        ask=bins.ask,
        wish=bins.request[bins.asked],
        distinct=np.ascontiguousarray(bins.choice[:, 0]),
        size=bins.shares,
        need=bins.needs,
        picks=np.zeros((3, items, 1 + MOST_DEVICES), np.int32),
        scratch=np.zeros((5, max(items, MOST_DEVICES) + 1), np.int32),
        stack=np.zeros((DEEPEST + 1, 6), np.int32),
    )


def clear(bins: SearchBins) -> None:
    """Take everybody off every node."""
    bins.room[LEFT] = bins.room[EMPTY]
    bins.holders[NOW] = bins.holders[STAYING]
    bins.nodes[:, HEAD] = -1


def open_all(bins: SearchBins) -> None:
    """Let pods come to every node again."""
    bins.nodes[:, SHUT] = 0


@inlined
def asks(item: int, bins: SearchBins) -> bool:
    """Return whether ``item`` has anything to do with devices."""
    kind = bins.items[item, KIND]
    return bool(bins.ask[kind] < bins.ask[kind + 1])


@inlined
def _has_room(row: Indices, at: int, take: Ints, room: Ints, holders: Indices) -> bool:
    end = row[3] if holders[NOW, at, row[0]] == 0 else row[2]
    fits = True
    for index in range(row[1], end):
        fits &= take[index, 1] <= room[LEFT, at, take[index, 0]]
    return fits


@inlined
def _hold(row: Indices, at: int, take: Ints, room: Ints, holders: Indices) -> None:
    end = row[3] if holders[NOW, at, row[0]] == 0 else row[2]
    for index in range(row[1], end):
        room[LEFT, at, take[index, 0]] -= take[index, 1]
    holders[NOW, at, row[0]] += 1


@inlined
def _release(row: Indices, at: int, take: Ints, room: Ints, holders: Indices) -> None:
    holders[NOW, at, row[0]] -= 1
    end = row[3] if holders[NOW, at, row[0]] == 0 else row[2]
    for index in range(row[1], end):
        room[LEFT, at, take[index, 0]] += take[index, 1]


@inlined
def _find(item: int, at: int, bins: SearchBins, keep: bool) -> bool:
    """Find devices for ``item``, which are in ``draft`` then; hold them only if it is to ``keep`` them.

    A share of one device goes where least is left; all else to the first that serve it.
    """
    found, taken = True, 0
    if bins.items[item, AT] == at:
        first, end = bins.items[item, HOME], bins.items[item + 1, HOME]
        for index in range(first, end):
            if found and _has_room(bins.option[index], at, bins.take, bins.room, bins.holders):
                _hold(bins.option[index], at, bins.take, bins.room, bins.holders)
                taken += 1
            else:
                found = False
        if not (found and keep):
            for index in range(first, first + taken):
                _release(bins.option[index], at, bins.take, bins.room, bins.holders)
        bins.scratch[DRAFT, 0] = AT_HOME
        return found
    layout, kind = bins.nodes[at, LAYOUT], bins.items[item, KIND]
    # On most nodes nothing has enough left.
    most = np.int64(0)
    for slot in range(bins.room.shape[2]):
        most = max(most, bins.room[LEFT, at, slot])
    if layout < 0 or most < bins.need[kind]:
        return False
    for asked in range(bins.ask[kind], bins.ask[kind + 1]):
        if not found:
            break
        found = False
        for choice in range(bins.wish[asked, 0], bins.wish[asked, 1]):
            before, position = taken, bins.start[layout, choice]
            end = bins.start[layout, choice + 1]
            number = bins.distinct[choice]
            for _ in range(number):
                best = _best(position, end, number == 1, at, bins.option, bins.take, bins.room, bins.holders)
                if best < 0:
                    break
                _hold(bins.option[best], at, bins.take, bins.room, bins.holders)
                taken += 1
                bins.scratch[DRAFT, taken] = best
                position = best + 1
            if taken - before == number:
                found = True
                break
            while taken > before:
                _release(bins.option[bins.scratch[DRAFT, taken]], at, bins.take, bins.room, bins.holders)
                taken -= 1
    bins.scratch[DRAFT, 0] = taken
    if not (found and keep):
        for index in range(taken):
            _release(bins.option[bins.scratch[DRAFT, 1 + index]], at, bins.take, bins.room, bins.holders)
    return found


@inlined
def _best(
    position: int, end: int, tightest: bool, at: int, option: Indices, take: Ints, room: Ints,
    holders: Indices,
) -> int:  # fmt: skip
    """Return the option with room from ``position`` on that has least left, or the first; -1 for none."""
    best, least = -1, np.int64(0)
    for number in range(position, end):
        if not _has_room(option[number], at, take, room, holders):
            continue
        if not tightest or option[number, 1] == option[number, 2]:
            return number
        rest = room[LEFT, at, take[option[number, 1], 0]]
        if best < 0 or rest < least:
            best, least = number, rest
    return best


@inlined
def devices_fit(item: int, at: int, bins: SearchBins) -> bool:
    """Return whether there are devices for ``item`` on ``at``, beside those that others have now."""
    return not asks(item, bins) or _find(item, at, bins, False)


@inlined
def may_come_for_devices(item: int, at: int, bins: SearchBins) -> bool:
    """Return the same, or whether ``item`` asks for none; nobody comes to a node that is shut."""
    return not asks(item, bins) or (bins.nodes[at, SHUT] == 0 and _find(item, at, bins, False))


@inlined
def give(item: int, at: int, bins: SearchBins) -> bool:
    """Give ``item`` devices of ``at``; return whether there were any.

    A pod at home keeps its own even if others have them too.
    """
    if not asks(item, bins):
        return True
    found = _find(item, at, bins, True)
    if bins.items[item, AT] == at:
        if not found:
            _keep(item, at, bins)
        bins.picks[CHOSEN, item, 0] = AT_HOME
        return found
    number = bins.scratch[DRAFT, 0] if found else 0
    bins.picks[CHOSEN, item, 0] = number
    for index in range(number):
        bins.picks[CHOSEN, item, 1 + index] = bins.scratch[DRAFT, 1 + index]
    return found


@inlined
def _keep(item: int, at: int, bins: SearchBins) -> None:
    for index in range(bins.items[item, HOME], bins.items[item + 1, HOME]):
        _hold(bins.option[index], at, bins.take, bins.room, bins.holders)


@inlined
def give_back(item: int, at: int, bins: SearchBins) -> None:
    """Take from ``item`` what it has on ``at``; the exact inverse of `give`."""
    if not asks(item, bins):
        return
    number = bins.picks[CHOSEN, item, 0]
    if number == AT_HOME:
        for index in range(bins.items[item, HOME], bins.items[item + 1, HOME]):
            _release(bins.option[index], at, bins.take, bins.room, bins.holders)
    for index in range(number):
        _release(bins.option[bins.picks[CHOSEN, item, 1 + index]], at, bins.take, bins.room, bins.holders)


@inlined
def remember(item: int, bins: SearchBins) -> None:
    """Note what ``item`` has, before it is taken from it."""
    if asks(item, bins):
        for index in range(max(0, bins.picks[CHOSEN, item, 0]) + 1):
            bins.picks[SAVED, item, index] = bins.picks[CHOSEN, item, index]


@inlined
def give_again(item: int, at: int, bins: SearchBins) -> None:
    """Give ``item`` the devices that were remembered."""
    if not asks(item, bins):
        return
    number = bins.picks[SAVED, item, 0]
    bins.picks[CHOSEN, item, 0] = number
    if number == AT_HOME:
        _keep(item, at, bins)
    for index in range(number):
        bins.picks[CHOSEN, item, 1 + index] = bins.picks[SAVED, item, 1 + index]
        _hold(bins.option[bins.picks[CHOSEN, item, 1 + index]], at, bins.take, bins.room, bins.holders)


@inlined
def whole_shares(at: int, bins: SearchBins) -> float:
    """Return how much what is free of shared devices is in few of them, 1 for each that is idle."""
    total, layout = 0.0, bins.nodes[at, LAYOUT]
    if layout < 0:
        return total
    for device in range(bins.holders.shape[2]):
        slot = bins.layouts[SLOT, layout, device]
        if slot < bins.layouts[SLOT, layout, device + 1] and bins.room[EMPTY, at, slot] > 1:
            free = bins.room[LEFT, at, slot] / bins.room[EMPTY, at, slot]
            total += free * free
    return total


@compiled
def arrange(at: int, number: int, bins: SearchBins) -> int:
    """Find an order in which first fit has devices for all, and give them those.

    The largest first, mostly. Else contents are looked for, and an order follows from who has which device in them. In
    the end orders are tried.

    Parameters
    ----------
    number
        So many of ``MEMBERS`` are the items on ``at`` that ask for devices.

    Returns
    -------
    int
        How many come: ``order`` begins with them. -1, with everything as it was, if none was found.
    """
    for slot in range(bins.room.shape[2]):
        bins.room[BEFORE, 0, slot] = bins.room[LEFT, at, slot]
    for device in range(bins.holders.shape[2]):
        bins.holders[BEFORE, 0, device] = bins.holders[NOW, at, device]
    coming = 0
    for index in range(number):
        if bins.items[bins.scratch[MEMBERS, index], AT] != at:
            _insert(bins.scratch[MEMBERS, index], coming, bins)
            coming += 1
    arranged = False
    attempt = 0 if coming == 0 or (bins.nodes[at, LAYOUT] >= 0 and bins.nodes[at, SHUT] == 0) else len(ATTEMPTS)
    while attempt < len(ATTEMPTS) and not arranged:
        _only_those_who_stay(at, number, bins)
        bins.stack[DEEPEST, 0] = MOST_STEPS
        found = coming == 0 or _run(ATTEMPTS[attempt], coming, at, bins)
        if coming > 0 and ATTEMPTS[attempt] == CONTENTS:
            if found:
                _sort(attempt < LAST_FIRST, coming, bins)
            else:
                attempt = len(ATTEMPTS) - 2
        else:
            arranged = found
        attempt += 1
    if not arranged:
        for slot in range(bins.room.shape[2]):
            bins.room[LEFT, at, slot] = bins.room[BEFORE, 0, slot]
        for device in range(bins.holders.shape[2]):
            bins.holders[NOW, at, device] = bins.holders[BEFORE, 0, device]
        return -1
    for index in range(number):
        item = bins.scratch[MEMBERS, index]
        if bins.items[item, AT] == at:
            bins.picks[CHOSEN, item, 0] = AT_HOME
            continue
        for column in range(bins.picks[TRIAL, item, 0] + 1):
            bins.picks[CHOSEN, item, column] = bins.picks[TRIAL, item, column]
    return coming


@inlined
def _insert(item: int, length: int, bins: SearchBins) -> None:
    """Put ``item`` among those in order, the largest first."""
    kind = bins.items[item, KIND]
    slot = length
    while slot > 0:
        other = bins.scratch[ORDER, slot - 1]
        size = bins.size[bins.items[other, KIND]]
        if size > bins.size[kind] or (size == bins.size[kind] and (bins.items[other, KIND], other) < (kind, item)):
            break
        bins.scratch[ORDER, slot] = other
        slot -= 1
    bins.scratch[ORDER, slot] = item


@inlined
def _only_those_who_stay(at: int, number: int, bins: SearchBins) -> None:
    for slot in range(bins.room.shape[2]):
        bins.room[LEFT, at, slot] = bins.room[EMPTY, at, slot]
    for device in range(bins.holders.shape[2]):
        bins.holders[NOW, at, device] = bins.holders[STAYING, at, device]
    for index in range(number):
        if bins.items[bins.scratch[MEMBERS, index], AT] == at:
            _keep(bins.scratch[MEMBERS, index], at, bins)


@inlined
def _sort(by_last: bool, coming: int, bins: SearchBins) -> None:
    """Sort those in order by the last device that they have in the contents found, or by the first."""
    for index in range(coming):
        item = bins.scratch[ORDER, index]
        device = bins.option[bins.picks[TRIAL, item, 1], 0]
        for column in range(2, bins.picks[TRIAL, item, 0] + 1):
            other = bins.option[bins.picks[TRIAL, item, column], 0]
            device = max(device, other) if by_last else min(device, other)
        bins.scratch[KEY, item] = device
        slot = index
        while slot > 0 and bins.scratch[KEY, bins.scratch[ORDER, slot - 1]] > device:
            bins.scratch[ORDER, slot] = bins.scratch[ORDER, slot - 1]
            slot -= 1
        bins.scratch[ORDER, slot] = item


@inlined
def _run(attempt: int, coming: int, at: int, bins: SearchBins) -> bool:
    """Have the first ``coming`` in order come one by one, or all at once for `CONTENTS`; with `EVERY_ORDER` in any."""
    depth = 0
    bins.scratch[TRIED, 0] = 0
    while bins.stack[DEEPEST, 0] > 0:
        if bins.scratch[TRIED, depth] == coming - depth:
            if depth == 0:
                return False
            depth -= 1
            item = bins.scratch[ORDER, depth]
            for column in range(1, bins.picks[TRIAL, item, 0] + 1):
                _release(bins.option[bins.picks[TRIAL, item, column]], at, bins.take, bins.room, bins.holders)
            _swap(depth, depth + bins.scratch[TRIED, depth], bins)
            bins.scratch[TRIED, depth] += 1
            continue
        candidate = depth + bins.scratch[TRIED, depth]
        alike = False
        for index in range(depth, candidate):
            alike |= bins.items[bins.scratch[ORDER, index], KIND] == bins.items[bins.scratch[ORDER, candidate], KIND]
        _swap(depth, candidate, bins)
        last = coming if attempt == CONTENTS else depth + 1
        if not alike and _come(depth, last, at, bins):
            depth = last
            if depth == coming:
                return True
            bins.scratch[TRIED, depth] = 0
        elif attempt == EVERY_ORDER:
            _swap(depth, candidate, bins)
            bins.scratch[TRIED, depth] += 1
        else:
            return False
    return False


@inlined
def _swap(one: int, other: int, bins: SearchBins) -> None:
    first = bins.scratch[ORDER, one]
    bins.scratch[ORDER, one] = bins.scratch[ORDER, other]
    bins.scratch[ORDER, other] = first


@inlined
def _come(first: int, last: int, at: int, bins: SearchBins) -> bool:
    """Give devices to the items from ``first`` to ``last`` in order, depth first.

    For one item that is the scheduler's rule. A request's devices go forwards only; where no more serve it, other
    devices of the same alternative, then other alternatives, then other devices of the requests before are tried. Of
    devices that are alike only the first is.
    """
    layout, index, depth = bins.nodes[at, LAYOUT], first, 0
    asked = bins.ask[bins.items[bins.scratch[ORDER, index], KIND]]
    choice, number = bins.wish[asked, 0], 0
    begin = bins.start[layout, choice]
    position = begin
    found = False
    while bins.stack[DEEPEST, 0] > 0:
        bins.stack[DEEPEST, 0] -= 1
        if number == bins.distinct[choice]:
            asked += 1
            if asked == bins.ask[bins.items[bins.scratch[ORDER, index], KIND] + 1]:
                index += 1
                if index == last:
                    found = True
                    break
                asked = bins.ask[bins.items[bins.scratch[ORDER, index], KIND]]
            choice, number = bins.wish[asked, 0], 0
            begin = bins.start[layout, choice]
            position = begin
            continue
        option = -1
        if depth < DEEPEST:
            option = _next(position, begin, bins.start[layout, choice + 1], at, bins)
        if option >= 0:
            _hold(bins.option[option], at, bins.take, bins.room, bins.holders)
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
        elif number == 0 and choice + 1 < bins.wish[asked, 1]:
            choice += 1
            begin = bins.start[layout, choice]
            position = begin
        elif depth > 0:
            depth -= 1
            index, asked = bins.stack[depth, ITEM_AT], bins.stack[depth, REQUEST]
            choice, number = bins.stack[depth, CHOICE], bins.stack[depth, NUMBER]
            begin, option = bins.stack[depth, BEGIN], bins.stack[depth, OPTION]
            _release(bins.option[option], at, bins.take, bins.room, bins.holders)
            position = option + 1
        else:
            break
    if not found:
        while depth > 0:
            depth -= 1
            _release(bins.option[bins.stack[depth, OPTION]], at, bins.take, bins.room, bins.holders)
        return False
    for row in range(first, last):
        bins.picks[TRIAL, bins.scratch[ORDER, row], 0] = 0
    for row in range(depth):
        item = bins.scratch[ORDER, bins.stack[row, ITEM_AT]]
        bins.picks[TRIAL, item, 0] += 1
        bins.picks[TRIAL, item, bins.picks[TRIAL, item, 0]] = bins.stack[row, OPTION]
    return True


@inlined
def _next(position: int, begin: int, end: int, at: int, bins: SearchBins) -> int:
    """Return the first option with room from ``position`` on; none from ``begin`` on is like it."""
    for option in range(position, end):
        if not _has_room(bins.option[option], at, bins.take, bins.room, bins.holders):
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
    layout = bins.nodes[at, LAYOUT]
    if bins.layouts[TWIN, layout, one] != bins.layouts[TWIN, layout, other]:
        return False
    first, second = bins.layouts[SLOT, layout, one], bins.layouts[SLOT, layout, other]
    for slot in range(bins.layouts[SLOT, layout, one + 1] - first):
        if bins.room[LEFT, at, first + slot] != bins.room[LEFT, at, second + slot]:
            return False
    return True


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
def list_members(at: int, bins: SearchBins) -> int:
    """Write the items on ``at`` that have devices to ``members``; return how many."""
    number, item = 0, bins.nodes[at, HEAD]
    while item >= 0:
        bins.scratch[MEMBERS, number] = item
        number += 1
        item = bins.items[item, AFTER]
    return number


@inlined
def join(item: int, at: int, bins: SearchBins) -> None:
    """Add ``item`` to those on ``at`` that have devices."""
    bins.items[item, AFTER] = bins.nodes[at, HEAD]
    bins.nodes[at, HEAD] = item


@inlined
def part(item: int, at: int, bins: SearchBins) -> None:
    """Remove ``item`` from those on ``at``."""
    if bins.nodes[at, HEAD] == item:
        bins.nodes[at, HEAD] = bins.items[item, AFTER]
        return
    other = bins.nodes[at, HEAD]
    while bins.items[other, AFTER] != item:
        other = bins.items[other, AFTER]
    bins.items[other, AFTER] = bins.items[item, AFTER]


@compiled
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
        _keep(item, at, bins)
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
    for slot in range(bins.room.shape[2]):
        left += max(0, bins.room[LEFT, at, slot])
    kind, layout, asked = bins.items[item, KIND], bins.nodes[at, LAYOUT], np.int64(0)
    if layout < 0:
        return False
    for wish in range(bins.ask[kind], bins.ask[kind + 1]):
        least = left + 1
        for choice in range(bins.wish[wish, 0], bins.wish[wish, 1]):
            for option in range(bins.start[layout, choice], bins.start[layout, choice + 1]):
                amount = np.int64(0)
                for take in range(bins.option[option, 1], bins.option[option, 2]):
                    amount += bins.take[take, 1]
                least = min(least, bins.distinct[choice] * amount)
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
