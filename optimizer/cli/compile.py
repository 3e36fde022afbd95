"""`compile`: compile the hot loops now, so that the service starts quickly."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from optimizer.service.warmup import PARTS, compile_part


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    argparse.ArgumentParser(
        prog="stowage-optimizer compile",
        description="Compile the hot loops, unless that was done before.",
    ).parse_args(arguments)
    # A fresh interpreter each: Numba's compiler holds the lock of the one it runs in.
    context = get_context("spawn")
    with ProcessPoolExecutor(len(PARTS), mp_context=context) as processes:
        list(processes.map(compile_part, PARTS))
    return 0
