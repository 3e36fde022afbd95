"""The nursery: a process that has imported the solver and forks children from it.

Run as ``python -m optimizer.service.nursery`` with a socket of packets as standard
input. The first packet brings the settings; then each packet is one request:

- ``fork`` with the child's end of a connection: answered by the process id;
- ``wait PID``: answered by the exit code of that child, once it has ended.

It has one thread only, so that forking is safe. When the service dies, the socket
closes, the nursery ends, and the kernel kills its children.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection

from optimizer.service.child import solve_one
from optimizer.service.packets import LONGEST_PACKET, open_packet
from optimizer.service.warmup import warm_up
from optimizer.strategies.source import load_strategies


def main() -> None:
    """Serve until the socket closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=os.dup(0))
    packet = control.recv(LONGEST_PACKET)
    if not packet:
        return
    sys.path[:], settings = open_packet(packet)
    strategies = load_strategies(settings.strategies)
    solve = partial(solve_one, settings=settings, strategies=strategies)
    warm_up()
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
        # Never back into the nursery's loop, whatever happened.
        os._exit(exit_code)
    return 0  # pragma: no cover - os._exit does not return


if __name__ == "__main__":
    main()
