"""The local search's arrays: the problem item by item, in a fixed width.

Kernels are compiled for a number of dimensions that is known. Problems of up to
`NARROW` of them are padded to that width, which costs nothing measurable, so that one
compilation serves nearly all; a second one serves all wider ones, and is slower. What
handles devices is compiled for any number only: that takes much longer to compile.
"""

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from stowage_optimizer.model.problem import NOWHERE, Flags, Indices, Ints, Problem, worth_of

NARROW = 4
"""Dimensions that the first compilation knows of."""

BINDING = 0.5
"""Share of the whole room asked for, from which a dimension guides the search."""

Floats = NDArray[np.float64]

Width = tuple[int, ...] | Ints
"""As long as there are dimensions; of a tuple the compiler knows the length."""

Number = TypeVar("Number", bound=np.generic)


class SearchArrays(NamedTuple):
    """Read-only arrays of the search; a tuple, since compiled code takes those.

    Overcommitted nodes are closed: their pods may stay or return, as if there were
    just enough room, and no pod that asks for what is short may come.

    Parameters
    ----------
    demand
        Amounts by item, shape ``(items, width)``.
    shares
        Share of a mean node that an item takes, shape ``(items, width)``.
    worth
        What placing an item counts, shape ``(items,)``.
    sizes
        Largest and mean of these over the binding dimensions, shape ``(items, 2)``.
    allowed
        As in `Problem`, without the closed nodes, shape ``(masks, nodes)``.
    room
        Shape ``(nodes, width)``.
    inverse
        One over a mean node's room, shape ``(width,)``; 0 where nothing is short.
    binding
        Number of dimensions with an inverse; they come first.
    strict
        1 if running pods are kept before pending ones of their tier are placed.
    """

    width: Width
    demand: Ints
    shares: Floats
    worth: Ints
    sizes: Floats
    tier: Indices
    kind: Indices
    mask: Indices
    home: Indices
    allowed: Flags
    room: Ints
    inverse: Floats
    binding: int
    strict: int


def make_arrays(problem: Problem, *, strict: bool) -> SearchArrays:
    """Return the search's view of ``problem``."""
    scarce, inverse = _by_scarcity(problem)
    demand = problem.demand[:, scarce]
    shares = demand * inverse
    mean = shares.sum(axis=1) / max(1, np.count_nonzero(inverse))
    sizes = np.column_stack([shares.max(axis=1, initial=0.0), mean])
    if problem.bins is not None:
        # A device that is short is as good as a dimension.
        devices = problem.bins.shares
        sizes = np.column_stack([np.maximum(sizes[:, 0], devices), sizes[:, 1] + devices])
    room, mask, allowed = _closed(problem)
    width = _width(len(scarce), any_number=problem.bins is not None)
    return SearchArrays(
        width=width,
        demand=_padded(demand[problem.kind], 0, len(width)),
        shares=_padded(shares[problem.kind], 0.0, len(width)),
        worth=worth_of(problem, problem.kind),
        sizes=sizes[problem.kind],
        tier=problem.tier[problem.kind],
        kind=problem.kind,
        mask=mask[problem.kind],
        home=problem.home,
        allowed=allowed,
        room=_padded(room[:, scarce], 0, len(width)),
        inverse=_padded(inverse[np.newaxis], 0.0, len(width))[0],
        binding=int(np.count_nonzero(inverse)),
        strict=int(strict),
    )


def overcommitted(problem: Problem) -> Flags:
    """Return where the pods at home request more than there is.

    Returns
    -------
    Flags
        Shape ``(nodes, dimensions)``.
    """
    return load_of(problem, problem.home != NOWHERE) > problem.room


def load_of(problem: Problem, running: Flags | Ints) -> Ints:
    """Return what the items ``running`` take at home, shape ``(nodes, dimensions)``."""
    load = np.zeros_like(problem.room)
    np.add.at(load, problem.home[running], problem.demand[problem.kind[running]])
    return load


def _by_scarcity(problem: Problem) -> tuple[NDArray[np.intp], Floats]:
    """Return the dimensions, scarcest first, and one over their room where scarce."""
    asked = np.bincount(problem.kind, minlength=len(problem.demand)) @ problem.demand
    offered = np.maximum(problem.room, 0).sum(axis=0)
    usage = asked / np.maximum(offered, 1)
    scarce = np.argsort(-usage, kind="stable")
    mean = np.maximum(offered[scarce] / max(1, len(problem.room)), 1)
    binding = usage[scarce] >= BINDING
    binding[:1] = True
    return scarce, np.where(binding, 1 / mean, 0.0)


def _closed(problem: Problem) -> tuple[Ints, Indices, Flags]:
    """Return room and masks with newcomers kept off overcommitted nodes."""
    short = overcommitted(problem)
    room = np.maximum(problem.room, load_of(problem, problem.home != NOWHERE))
    if not short.any():
        return room, problem.mask, problem.allowed
    asks = problem.demand > 0
    rows = np.column_stack([problem.mask, asks])
    unique, mask = np.unique(rows, axis=0, return_inverse=True)
    kept_off = unique[:, 1:].astype(np.bool_) @ short.T
    allowed = problem.allowed[unique[:, 0]] & ~kept_off
    return room, mask.reshape(-1).astype(np.int32), allowed


def _width(dimensions: int, *, any_number: bool) -> Width:
    if dimensions <= NARROW and not any_number:
        return (0,) * NARROW
    return np.zeros(dimensions, np.int64)


def _padded(rows: NDArray[Number], filling: float, width: int) -> NDArray[Number]:
    wide = np.full((len(rows), width), filling, rows.dtype)
    wide[:, : rows.shape[1]] = rows
    return wide
