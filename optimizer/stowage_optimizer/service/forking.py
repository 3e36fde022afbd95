"""The fork server's loop: fork a child that takes the next request, or wait for one.

Importing this imports the solver.
"""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection

from stowage_optimizer.search.background_compiler import BackgroundCompiler
from stowage_optimizer.service.child import solve_one
from stowage_optimizer.service.packets import LONGEST_PACKET
from stowage_optimizer.service.settings import WorkerSettings
from stowage_optimizer.service.warmup import warm_up
from stowage_optimizer.strategies.registry import load_strategies


def serve(
    control: socket.socket, settings: WorkerSettings, compiler: BackgroundCompiler
) -> None:
    """Warm up, then answer what comes by ``control`` until it closes."""
    strategies = load_strategies(settings.strategies)
    solve = partial(solve_one, settings=settings, strategies=strategies)
    warm_up(compiler)
    gc.enable()
    while True:
        packet, descriptors, _, _ = socket.recv_fds(control, LONGEST_PACKET, 1)
        verb, _, argument = packet.decode().partition(" ")
        if not verb:
            return
        if verb == "fork":
            control.send(str(_fork(control, descriptors[0], solve)).encode())
        else:
            _, status = os.waitpid(int(argument), 0)
            control.send(str(os.waitstatus_to_exitcode(status)).encode())


def _fork(
    control: socket.socket, descriptor: int, solve: Callable[[Connection], None]
) -> int:
    child = os.fork()
    if child:
        os.close(descriptor)
        return child
    exit_code = 1
    try:
        control.close()
        os.close(0)
        with Connection(descriptor) as connection:
            solve(connection)
        exit_code = 0
    finally:
        # Never back into the fork server's loop, whatever happened.
        os._exit(exit_code)
    return 0  # pragma: no cover - os._exit does not return
