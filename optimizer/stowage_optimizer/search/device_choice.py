"""Devices for one pod: those that fit best, which it is given and which it gives back."""

import numpy as np

from stowage_optimizer.model.problem import Indices, Ints
from stowage_optimizer.search.compiling import inlined
from stowage_optimizer.search.device_state import (
    ASK,
    AT,
    AT_HOME,
    CHOSEN,
    COUNTS,
    DRAFT,
    EMPTY,
    END,
    FIRST,
    HOLDERS,
    HOME,
    KIND,
    LAYOUT,
    LEFT,
    NEED,
    OF_LAYOUT,
    OPENED,
    SAVED,
    SHUT,
    SLOT,
    SearchBins,
)


@inlined
def slots_of(bins: SearchBins) -> int:
    """Return how many slots a node has."""
    return int(bins.room.shape[2]) - int(bins.layouts.shape[2]) + 1


@inlined
def asks(item: int, bins: SearchBins) -> bool:
    """Return whether ``item`` has anything to do with devices."""
    kind = bins.items[item, KIND]
    return bool(bins.kinds[kind, ASK] < bins.kinds[kind + 1, ASK])


@inlined
def has_room(row: Indices, at: int, take: Ints, room: Ints) -> bool:
    """Return whether there is room for what one option takes."""
    end = row[OPENED] if room[LEFT, at, row[HOLDERS]] == 0 else row[END]
    fits = True
    for index in range(row[FIRST], end):
        fits &= take[index, 1] <= room[LEFT, at, take[index, 0]]
    return fits


@inlined
def hold(row: Indices, at: int, take: Ints, room: Ints) -> None:
    """Take it."""
    end = row[OPENED] if room[LEFT, at, row[HOLDERS]] == 0 else row[END]
    for index in range(row[FIRST], end):
        room[LEFT, at, take[index, 0]] -= take[index, 1]
    room[LEFT, at, row[HOLDERS]] += 1


@inlined
def release(row: Indices, at: int, take: Ints, room: Ints) -> None:
    """Give it back; the exact inverse of `hold`."""
    room[LEFT, at, row[HOLDERS]] -= 1
    end = row[OPENED] if room[LEFT, at, row[HOLDERS]] == 0 else row[END]
    for index in range(row[FIRST], end):
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
            if found and has_room(bins.option[index], at, bins.take, bins.room):
                hold(bins.option[index], at, bins.take, bins.room)
                taken += 1
            else:
                found = False
        if not (found and keep):
            for index in range(first, first + taken):
                release(bins.option[index], at, bins.take, bins.room)
        bins.scratch[DRAFT, 0] = AT_HOME
        return found
    layout, kind = bins.nodes[at, LAYOUT], bins.items[item, KIND]
    # On most nodes nothing has enough left.
    most = np.int64(0)
    for slot in range(slots_of(bins)):
        most = max(most, bins.room[LEFT, at, slot])
    if layout < 0 or most < bins.kinds[kind, NEED]:
        return False
    for asked in range(bins.kinds[kind, ASK], bins.kinds[kind + 1, ASK]):
        if not found:
            break
        found = False
        for choice in range(bins.wish[asked, 0], bins.wish[asked, 1]):
            before, position = taken, bins.start[OF_LAYOUT + layout, choice]
            end = bins.start[OF_LAYOUT + layout, choice + 1]
            number = bins.start[COUNTS, choice]
            for _ in range(number):
                best = _best(position, end, number == 1, at, bins.option, bins.take, bins.room)
                if best < 0:
                    break
                hold(bins.option[best], at, bins.take, bins.room)
                taken += 1
                bins.scratch[DRAFT, taken] = best
                position = best + 1
            if taken - before == number:
                found = True
                break
            while taken > before:
                release(bins.option[bins.scratch[DRAFT, taken]], at, bins.take, bins.room)
                taken -= 1
    bins.scratch[DRAFT, 0] = taken
    if not (found and keep):
        for index in range(taken):
            release(bins.option[bins.scratch[DRAFT, 1 + index]], at, bins.take, bins.room)
    return found


@inlined
def _best(
    position: int, end: int, tightest: bool, at: int, option: Indices, take: Ints, room: Ints,
) -> int:  # fmt: skip
    """Return the option with room from ``position`` on that has least left, or the first; -1 for none."""
    best, least = -1, np.int64(0)
    for number in range(position, end):
        if not has_room(option[number], at, take, room):
            continue
        if not tightest or option[number, FIRST] == option[number, END]:
            return number
        rest = room[LEFT, at, take[option[number, FIRST], 0]]
        if best < 0 or rest < least:
            best, least = number, rest
    return best


@inlined
def _finds(item: int, at: int, bins: SearchBins) -> bool:
    """Return whether `_find` finds devices; of one that takes one device, some must have room."""
    kind, layout = bins.items[item, KIND], bins.nodes[at, LAYOUT]
    asked = bins.kinds[kind, ASK]
    if bins.items[item, AT] == at or layout < 0 or bins.kinds[kind + 1, ASK] > asked + 1:
        return _find(item, at, bins, False)
    for choice in range(bins.wish[asked, 0], bins.wish[asked, 1]):
        if bins.start[COUNTS, choice] != 1:
            return _find(item, at, bins, False)
        for option in range(bins.start[OF_LAYOUT + layout, choice], bins.start[OF_LAYOUT + layout, choice + 1]):
            if has_room(bins.option[option], at, bins.take, bins.room):
                return True
    return False


@inlined
def least_left(item: int, at: int, bins: SearchBins) -> float:
    """Return how much would be left of the device that `give` finds for a single request, 0 for any other."""
    kind, layout = bins.items[item, KIND], bins.nodes[at, LAYOUT]
    asked = bins.kinds[kind, ASK]
    if bins.items[item, AT] == at or layout < 0 or bins.kinds[kind + 1, ASK] != asked + 1:
        return 0.0
    choice = bins.wish[asked, 0]
    begin, end = bins.start[OF_LAYOUT + layout, choice], bins.start[OF_LAYOUT + layout, choice + 1]
    best = _best(begin, end, True, at, bins.option, bins.take, bins.room)
    if best < 0 or bins.option[best, FIRST] == bins.option[best, END]:
        return 0.0
    row = bins.option[best, FIRST]
    return float(bins.room[LEFT, at, bins.take[row, 0]] - bins.take[row, 1])


@inlined
def devices_fit(item: int, at: int, bins: SearchBins) -> bool:
    """Return whether there are devices for ``item`` on ``at``, beside those that others have now."""
    return not asks(item, bins) or _finds(item, at, bins)


@inlined
def may_come_for_devices(item: int, at: int, bins: SearchBins) -> bool:
    """Return the same, or whether ``item`` asks for none; nobody comes to a node that is shut."""
    return not asks(item, bins) or (bins.nodes[at, SHUT] == 0 and _finds(item, at, bins))


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
            keep(item, at, bins)
        bins.picks[CHOSEN, item, 0] = AT_HOME
        return found
    number = bins.scratch[DRAFT, 0] if found else 0
    bins.picks[CHOSEN, item, 0] = number
    for index in range(number):
        bins.picks[CHOSEN, item, 1 + index] = bins.scratch[DRAFT, 1 + index]
    return found


@inlined
def keep(item: int, at: int, bins: SearchBins) -> None:
    """Hold what ``item`` holds at home."""
    for index in range(bins.items[item, HOME], bins.items[item + 1, HOME]):
        hold(bins.option[index], at, bins.take, bins.room)


@inlined
def give_back(item: int, at: int, bins: SearchBins) -> None:
    """Take from ``item`` what it has on ``at``; the exact inverse of `give`."""
    if not asks(item, bins):
        return
    number = bins.picks[CHOSEN, item, 0]
    if number == AT_HOME:
        for index in range(bins.items[item, HOME], bins.items[item + 1, HOME]):
            release(bins.option[index], at, bins.take, bins.room)
    for index in range(number):
        release(bins.option[bins.picks[CHOSEN, item, 1 + index]], at, bins.take, bins.room)


@inlined
def hold_again(item: int, at: int, bins: SearchBins) -> None:
    """Give ``item`` what `give_back` has just taken from it."""
    if not asks(item, bins):
        return
    number = bins.picks[CHOSEN, item, 0]
    if number == AT_HOME:
        keep(item, at, bins)
    for index in range(number):
        hold(bins.option[bins.picks[CHOSEN, item, 1 + index]], at, bins.take, bins.room)


@inlined
def remember(item: int, bins: SearchBins) -> None:
    """Note what ``item`` has, before it is taken from it."""
    if asks(item, bins):
        for index in range(max(0, bins.picks[CHOSEN, item, 0]) + 1):
            bins.picks[SAVED, item, index] = bins.picks[CHOSEN, item, index]


@inlined
def give_again(item: int, at: int, bins: SearchBins) -> None:
    """Give ``item`` the devices that were remembered."""
    if asks(item, bins):
        for index in range(max(0, bins.picks[SAVED, item, 0]) + 1):
            bins.picks[CHOSEN, item, index] = bins.picks[SAVED, item, index]
    hold_again(item, at, bins)


@inlined
def whole_shares(at: int, bins: SearchBins) -> float:
    """Return how much what is free of shared devices is in few of them, 1 for each that is idle."""
    total, layout = 0.0, bins.nodes[at, LAYOUT]
    if layout < 0:
        return total
    for device in range(bins.layouts.shape[2] - 1):
        slot = bins.layouts[SLOT, layout, device]
        if slot < bins.layouts[SLOT, layout, device + 1] and bins.room[EMPTY, at, slot] > 1:
            free = bins.room[LEFT, at, slot] / bins.room[EMPTY, at, slot]
            total += free * free
    return total
