"""Compiling the search, or loading what an earlier process compiled."""

import gc
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from stowage_optimizer.model.bins import Bins
from stowage_optimizer.model.problem import NOWHERE, Indices, Problem, make_problem
from stowage_optimizer.search.cache import DEVICES
from stowage_optimizer.search.clearing import clear_room
from stowage_optimizer.search.device_state import make_bins
from stowage_optimizer.search.exchanges import exchange
from stowage_optimizer.search.exploration import PLACING, explore
from stowage_optimizer.search.filling import first_fit
from stowage_optimizer.search.moves import make_stack, seek
from stowage_optimizer.search.placement import enter, nothing_frozen
from stowage_optimizer.search.repair import Repairer
from stowage_optimizer.search.search_arrays import NARROW, SearchArrays, make_arrays
from stowage_optimizer.search.state import State, make_state

WIDE = NARROW + 1
"""Dimensions that need the second compilation."""


def warm_up_repair() -> None:
    """Compile, or load, what repairs assignments and enters them."""
    problem = _smallest(NARROW)
    Repairer(problem, strict=True).repair(problem.home)
    for width in (NARROW, WIDE):
        arrays, state = _ready(width)
        enter(problem.home, 0, nothing_frozen(arrays), arrays, state)


def warm_up_clearing() -> None:
    """Compile, or load, the first plan for many pods, and do nothing with it."""
    for width in (NARROW, WIDE):
        arrays, state = _ready(width)
        clear_room(arrays.home, arrays, state)


def warm_up_exploration() -> None:
    """Compile, or load, the local search, and do nothing with it."""
    for width in (NARROW, WIDE):
        explore(0, 0, PLACING, 1.0, 1.0, *_ready(width), None)


def warm_up_moves(width: int = NARROW) -> None:
    """Compile, or load, the search for few moves, and do nothing with it."""
    arrays, state = _ready(width)
    waiting = np.array([1], np.int32)
    seek(0, make_stack(waiting, 1, nothing_frozen(arrays), 2), arrays, state)


def warm_up_devices() -> None:
    """Compile, or load, all that handles devices."""
    problem = _smallest(NARROW, bins=_one_device())
    arrays, bins = make_arrays(problem, strict=True), make_bins(problem)
    state = make_state(arrays, problem.tiers, seed=0)
    first_fit(problem, np.array([1], np.int32), problem.home)
    if bins is not None:
        enter(problem.home, 0, nothing_frozen(arrays), arrays, state, bins)
        next(exchange(arrays, state, bins, None))
    explore(0, 0, PLACING, 1.0, 1.0, arrays, state, bins)
    # Last, so that what is known of it tells that all is.
    Repairer(problem, strict=True).repair(problem.home)


PARTS: dict[str, Callable[[], None]] = {
    "repair": warm_up_repair,
    "clearing": warm_up_clearing,
    "wide moves": partial(warm_up_moves, WIDE),
    "exploration": warm_up_exploration,
    "moves": warm_up_moves,
    DEVICES: warm_up_devices,
}
"""What is compiled, in parts that do not need each other."""


def _ready(width: int) -> tuple[SearchArrays, State]:
    problem = _smallest(width)
    arrays = make_arrays(problem, strict=True)
    return arrays, make_state(arrays, problem.tiers, seed=0)


def _smallest(width: int, bins: Bins | None = None) -> Problem:
    """Return a problem of two pods, one of which runs, and two nodes."""
    kind, home = np.zeros(2, np.int32), np.array([0, NOWHERE], np.int32)
    return make_problem([((1,) * width, 0, (0, 1))], kind, home, ((1,) * width,) * 2, tiers=1, bins=bins)


def _one_device() -> Bins:
    """Return one device a node, which the pod that runs holds, and for which the other one waits."""

    def table(*rows: Sequence[int]) -> Indices:
        return np.array(rows, np.int32)

    return Bins(
        layout=np.zeros(2, np.int32),
        left=np.ones((2, 1), np.int64),
        held=table((0,), (0,)),
        slot=table((0, 1)),
        twin=table((0,)),
        start=table((0, 1)),
        option=table((0, 0, 1, 1)),
        take=np.array([(0, 1)], np.int64),
        ask=np.array([0, 1], np.int32),
        asked=np.zeros(1, np.int32),
        request=table((0, 1)),
        choice=table((1, 0)),
        home=np.array([0, 1, 1], np.int32),
        home_option=table((0, 0, 1, 1)),
        share=np.ones(1),
        least=np.ones(1, np.int64),
    )


if __name__ == "__main__":
    # Nothing that a compiler makes is in its way for long enough to look for it.
    gc.disable()
    # A terminal's Ctrl-C ends it without a word.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for name in sys.argv[1:]:
        PARTS[name]()
