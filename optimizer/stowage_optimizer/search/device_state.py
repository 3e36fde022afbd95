"""Devices that pods share or that overlap, and who has which, as compiled code takes them.

As few arrays as can be: each costs time where compiled functions hand them on, and more
where they are compiled.
"""

from typing import NamedTuple

import numpy as np

from stowage_optimizer.model.bins import MOST_DEVICES
from stowage_optimizer.model.problem import Indices, Ints, Problem

DEEPEST = 512
"""Devices of the pods of one search."""

AT_HOME = -1
"""Instead of how many options a pod has: it keeps what it holds."""

LAYOUT, SHUT, HEAD = range(3)
"""Columns of `SearchBins.nodes`."""

KIND, AT, HOME, AFTER = range(4)
"""Columns of `SearchBins.items`."""

LEFT, EMPTY, BEFORE = range(3)
"""Planes of `SearchBins.room`; the last is scratch."""

ASK, NEED, SIZE = range(3)
"""Columns of `SearchBins.kinds`."""

DEVICE, FIRST, END, OPENED, HOLDERS = range(5)
"""Columns of `SearchBins.option`."""

COUNTS, OF_LAYOUT = range(2)
"""The row of `SearchBins.start` with how many devices a choice takes, and that of the first layout."""

SLOT, TWIN = range(2)
"""Planes of `SearchBins.layouts`."""

CHOSEN, SAVED, TRIAL = range(3)
"""Planes of `SearchBins.picks`."""

DRAFT, ORDER, TRIED, KEY, MEMBERS, STEPS = range(6)
"""Rows of `SearchBins.scratch`: the last one begins with how many steps are left."""

ITEM_AT, REQUEST, CHOICE, NUMBER, BEGIN, OPTION = range(6, 12)
"""Further ones: what a depth first search has decided, one column a device."""


class SearchBins(NamedTuple):
    """Who has which devices now, the tables that say who may, and scratch space.

    Parameters
    ----------
    nodes
        Layout, whether nobody comes for devices, and the first of the items that have some, shape ``(nodes, 3)``.
    items
        Kind, home, first option of what is held there, and the next item of the node, shape ``(items + 1, 4)``.
    room
        What is left now, and beside those who stay anyway, of each slot, and after the slots how many holdings each
        device has, shape ``(3, nodes, slots + devices)``.
    layouts
        `Bins.slot` and `Bins.twin`, shape ``(2, layouts, devices + 1)``.
    start
        How many devices by choice, then `Bins.start`, shape ``(1 + layouts, choices + 1)``.
    option
        `Bins.option`, then `Bins.home_option`, each with where ``room`` has the holdings of its device.
    take
        As in `Bins`.
    kinds
        Where its requests begin, `Bins.needs`, and its rank by `Bins.shares`, shape ``(kinds + 1, 3)``.
    wish
        By request of a kind, first choice and end of the choices.
    picks
        How many options an item has, or `AT_HOME`, and which, shape ``(3, items, 1 + MOST_DEVICES)``.
    scratch
        Shape ``(12, items + 1)`` at least.
    """

    nodes: Indices
    items: Indices
    room: Ints
    layouts: Indices
    start: Indices
    option: Indices
    take: Ints
    kinds: Ints
    wish: Indices
    picks: Indices
    scratch: Indices


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
    kinds = np.zeros((len(bins.ask), 3), np.int64)
    kinds[:, ASK], kinds[:-1, NEED] = bins.ask, bins.needs
    kinds[:-1, SIZE] = np.unique(bins.shares, return_inverse=True)[1]
    options = np.concatenate([bins.option, bins.home_option])
    start = np.zeros((OF_LAYOUT + len(bins.start), bins.start.shape[1]), np.int32)
    start[COUNTS, :-1], start[OF_LAYOUT:] = bins.choice[:, 0], bins.start
    return SearchBins(
        nodes=np.column_stack([bins.layout, np.zeros(nodes, np.int32), np.full(nodes, -1, np.int32)]),
        items=of_items,
        room=np.stack([np.column_stack([bins.left, bins.held])] * 3),
        layouts=layouts,
        start=start,
        option=np.column_stack([options, options[:, DEVICE] + np.int32(bins.left.shape[1])]),
        take=bins.take,
        kinds=kinds,
        wish=bins.request[bins.asked],
        picks=np.zeros((3, items, 1 + MOST_DEVICES), np.int32),
        scratch=np.zeros((1 + OPTION, max(items, DEEPEST) + 1), np.int32),
    )


def clear(bins: SearchBins) -> None:
    """Take everybody off every node."""
    bins.room[LEFT] = bins.room[EMPTY]
    bins.nodes[:, HEAD] = -1


def open_all(bins: SearchBins) -> None:
    """Let pods come to every node again."""
    bins.nodes[:, SHUT] = 0
