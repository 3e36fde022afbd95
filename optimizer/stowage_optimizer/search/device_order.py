"""In what order pods come to a node, so that first fit has devices for all of them.

The search gives a pod the devices that fit best. The scheduler does not: it gives each
pod that comes the first ones that serve it. So what the search finds is a plan only
where some order is known in which first fit finds room for all that come; `arrange`
looks for one. That pods leave never comes into it: all who do go before anybody comes.

Where it is not found, pods count as not fitting. That may leave a plan unseen, and never makes one that cannot be
carried out.
"""

from stowage_optimizer.search.compiling import compiled, inlined
from stowage_optimizer.search.device_choice import has_room, hold, keep, release
from stowage_optimizer.search.device_state import (
    AFTER,
    ASK,
    AT,
    AT_HOME,
    BEFORE,
    BEGIN,
    CHOICE,
    CHOSEN,
    COUNTS,
    DEEPEST,
    DEVICE,
    EMPTY,
    HEAD,
    ITEM_AT,
    KEY,
    KIND,
    LAYOUT,
    LEFT,
    MEMBERS,
    NUMBER,
    OF_LAYOUT,
    OPTION,
    ORDER,
    REQUEST,
    SHUT,
    SIZE,
    SLOT,
    STEPS,
    TRIAL,
    TRIED,
    TWIN,
    SearchBins,
)

MOST_STEPS = 1_000
"""Steps of each search for the contents of a node, or for an order."""

IN_ORDER, CONTENTS, EVERY_ORDER = range(3)

ATTEMPTS = (IN_ORDER, CONTENTS, IN_ORDER, CONTENTS, IN_ORDER, EVERY_ORDER)
"""What `arrange` tries: the order follows from the contents found before it."""

LAST_FIRST = 2
"""The attempts before it sort by the last device of each, those after it by the first."""


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
    coming = 0
    for index in range(number):
        if bins.items[bins.scratch[MEMBERS, index], AT] != at:
            _insert(bins.scratch[MEMBERS, index], coming, bins)
            coming += 1
    arranged = False
    attempt = 0 if coming == 0 or (bins.nodes[at, LAYOUT] >= 0 and bins.nodes[at, SHUT] == 0) else len(ATTEMPTS)
    while attempt < len(ATTEMPTS) and not arranged:
        _only_those_who_stay(at, number, bins)
        bins.scratch[STEPS, 0] = MOST_STEPS
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
        size = bins.kinds[bins.items[other, KIND], SIZE]
        if size > bins.kinds[kind, SIZE] or (
            size == bins.kinds[kind, SIZE] and (bins.items[other, KIND], other) < (kind, item)
        ):
            break
        bins.scratch[ORDER, slot] = other
        slot -= 1
    bins.scratch[ORDER, slot] = item


@inlined
def _only_those_who_stay(at: int, number: int, bins: SearchBins) -> None:
    for slot in range(bins.room.shape[2]):
        bins.room[LEFT, at, slot] = bins.room[EMPTY, at, slot]
    for index in range(number):
        if bins.items[bins.scratch[MEMBERS, index], AT] == at:
            keep(bins.scratch[MEMBERS, index], at, bins)


@inlined
def _sort(by_last: bool, coming: int, bins: SearchBins) -> None:
    """Sort those in order by the last device that they have in the contents found, or by the first."""
    for index in range(coming):
        item = bins.scratch[ORDER, index]
        device = bins.option[bins.picks[TRIAL, item, 1], DEVICE]
        for column in range(2, bins.picks[TRIAL, item, 0] + 1):
            other = bins.option[bins.picks[TRIAL, item, column], DEVICE]
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
    while bins.scratch[STEPS, 0] > 0:
        if bins.scratch[TRIED, depth] == coming - depth:
            if depth == 0:
                return False
            depth -= 1
            item = bins.scratch[ORDER, depth]
            for column in range(1, bins.picks[TRIAL, item, 0] + 1):
                release(bins.option[bins.picks[TRIAL, item, column]], at, bins.take, bins.room)
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
    asked = bins.kinds[bins.items[bins.scratch[ORDER, index], KIND], ASK]
    choice, number = bins.wish[asked, 0], 0
    begin = bins.start[OF_LAYOUT + layout, choice]
    position = begin
    found = False
    while bins.scratch[STEPS, 0] > 0:
        bins.scratch[STEPS, 0] -= 1
        if number == bins.start[COUNTS, choice]:
            asked += 1
            if asked == bins.kinds[bins.items[bins.scratch[ORDER, index], KIND] + 1, ASK]:
                index += 1
                if index == last:
                    found = True
                    break
                asked = bins.kinds[bins.items[bins.scratch[ORDER, index], KIND], ASK]
            choice, number = bins.wish[asked, 0], 0
            begin = bins.start[OF_LAYOUT + layout, choice]
            position = begin
            continue
        option = -1
        if depth < DEEPEST:
            option = _next(position, begin, bins.start[OF_LAYOUT + layout, choice + 1], at, bins)
        if option >= 0:
            hold(bins.option[option], at, bins.take, bins.room)
            bins.scratch[ITEM_AT, depth] = index
            bins.scratch[REQUEST, depth] = asked
            bins.scratch[CHOICE, depth] = choice
            bins.scratch[NUMBER, depth] = number
            bins.scratch[BEGIN, depth] = begin
            bins.scratch[OPTION, depth] = option
            depth += 1
            number += 1
            begin = option + 1
            position = begin
        elif number == 0 and choice + 1 < bins.wish[asked, 1]:
            choice += 1
            begin = bins.start[OF_LAYOUT + layout, choice]
            position = begin
        elif depth > 0:
            depth -= 1
            index, asked = bins.scratch[ITEM_AT, depth], bins.scratch[REQUEST, depth]
            choice, number = bins.scratch[CHOICE, depth], bins.scratch[NUMBER, depth]
            begin, option = bins.scratch[BEGIN, depth], bins.scratch[OPTION, depth]
            release(bins.option[option], at, bins.take, bins.room)
            position = option + 1
        else:
            break
    if not found:
        while depth > 0:
            depth -= 1
            release(bins.option[bins.scratch[OPTION, depth]], at, bins.take, bins.room)
        return False
    for row in range(first, last):
        bins.picks[TRIAL, bins.scratch[ORDER, row], 0] = 0
    for row in range(depth):
        item = bins.scratch[ORDER, bins.scratch[ITEM_AT, row]]
        bins.picks[TRIAL, item, 0] += 1
        bins.picks[TRIAL, item, bins.picks[TRIAL, item, 0]] = bins.scratch[OPTION, row]
    return True


@inlined
def _next(position: int, begin: int, end: int, at: int, bins: SearchBins) -> int:
    """Return the first option with room from ``position`` on; none from ``begin`` on is like it."""
    for option in range(position, end):
        if not has_room(bins.option[option], at, bins.take, bins.room):
            continue
        alike = False
        for other in range(begin, option):
            if _alike(bins.option[other, DEVICE], bins.option[option, DEVICE], at, bins):
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
