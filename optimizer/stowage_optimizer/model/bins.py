"""Devices of nodes that pods share or that overlap, as flat arrays that compiled code takes.

A slot is a capacity of a device, or a counter that several devices consume. A request is
served by one of its choices, a choice by so many distinct devices, each by one option.
"""

from collections.abc import Sequence
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowage_optimizer.model.problem import Indices, Ints

Floats = NDArray[np.float64]

MOST_DEVICES = 16
"""Devices that one pod asks for. Classes that ask for more are left alone."""

MOST_SLOTS = 512
"""Capacities and counters of a node. No pod comes for devices to nodes with more."""


class Bins(NamedTuple):
    """What pods may take of which devices, and what is left of them.

    Parameters
    ----------
    layout
        Layout by node, -1 for none, shape ``(nodes,)``.
    left
        Amounts that are free beside what stays anyway, padded to the widest layout, shape ``(nodes, slots)``; may be
        negative. What items hold at home counts as free.
    held
        How many holdings stay anyway, shape ``(nodes, devices)``.
    slot
        First slot of each device, and after the last one that of the counters, shape ``(layouts, devices + 1)``.
    twin
        A number by device, shape ``(layouts, devices)``. Two devices with the same one serve the same requests alike
        while as much is free of the one as of the other.
    start
        First option of each choice, in the order in which the scheduler tries them, shape ``(layouts, choices + 1)``.
    option
        Device, first take, end of what each holding takes, and end of what the first holding takes of counters besides,
        shape ``(options, 4)``.
    take
        Slot and amount, shape ``(takes, 2)``; an amount of 0 needs the slot not to be exceeded.
    ask, asked
        The requests of kind ``k`` are ``asked[ask[k]:ask[k + 1]]``, in the scheduler's order.
    request
        First choice and end of the choices of each request of the snapshot, shape ``(requests, 2)``.
    choice
        How many distinct devices, and of which request it is a choice, shape ``(choices, 2)``.
    home, home_option
        Item ``i`` holds at home what ``home_option[home[i]:home[i + 1]]`` say; as ``option``.
    share
        What a choice takes at the most, 1 for as much as one device has, shape ``(choices,)``.
    least
        The least that a choice takes of a device's first capacity, shape ``(choices,)``.
    """

    layout: Indices
    left: Ints
    held: Indices
    slot: Indices
    twin: Indices
    start: Indices
    option: Indices
    take: Ints
    ask: Indices
    asked: Indices
    request: Indices
    choice: Indices
    home: Indices
    home_option: Indices
    share: Floats
    least: Ints

    def asking(self, requests: Sequence[tuple[int, ...]]) -> "Bins":
        """Return the same for kinds that ask for ``requests``."""
        asked = np.array([*chain.from_iterable(requests)], np.int32)
        return self._replace(ask=offsets([len(one) for one in requests]), asked=asked)

    @property
    def shares(self) -> Floats:
        """What a pod of each kind takes of devices at the most, 1 for as much as one device has, shape ``(kinds,)``."""
        requests = [self.share[first:end].max(initial=0.0) for first, end in self.request.tolist()]
        kinds = pairwise(self.ask.tolist())
        return np.array(
            [sum(requests[at] for at in self.asked[first:end].tolist()) for first, end in kinds], np.float64
        )

    @property
    def needs(self) -> Ints:
        """Return by kind an amount that some slot of a node must have left for one more pod, shape ``(kinds,)``."""
        requests = [self.least[first:end].min(initial=2**62) for first, end in self.request.tolist()]
        kinds = pairwise(self.ask.tolist())
        return np.array(
            [max((requests[at] for at in self.asked[first:end].tolist()), default=0) for first, end in kinds], np.int64
        )

    def beside(self, members: Sequence[int], others: Sequence[tuple[int, Indices]]) -> "Bins":
        """Return the bins of the items ``members``, beside what others take.

        Parameters
        ----------
        others
            Node and options, of shape ``(options, 4)``, of the items that are left out.
        """
        left, held = self.left.copy(), self.held.copy()
        for node, options in others:
            for device, first, end, opened in options.tolist():
                for slot, amount in self.take[first : end if held[node, device] else opened].tolist():
                    left[node, slot] -= amount
                held[node, device] += 1
        rows = [self.home_option[self.home[item] : self.home[item + 1]] for item in members]
        return self._replace(
            left=left,
            held=held,
            home=offsets([len(one) for one in rows]),
            home_option=np.concatenate([np.zeros((0, 4), np.int32), *rows]),
        )


def offsets(lengths: Sequence[int]) -> Indices:
    """Return where each part begins of what is put one after the other, and the end."""
    return np.array([0, *accumulate(lengths)], np.int32)
