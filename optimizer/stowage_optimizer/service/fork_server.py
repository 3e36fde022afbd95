"""The fork server: a process that has imported the solver and forks children from it.

Run as ``python -m stowage_optimizer.service.fork_server`` with a socket of packets as
standard input. The first packet brings the settings; once it is warm it says so. Then
each packet asks for one child, and brings the child's end of a connection and a socket
on which the child is reported: its pidfd at once, its exit code when it has ended.

It has one thread only, so that forking is safe. When the service dies, the socket
closes, the fork server ends, and the kernel kills its children.
"""

import gc
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection, wait

from stowage_optimizer.search.cache import BackgroundCompiler
from stowage_optimizer.service.settings import FORK, LONGEST_PACKET, WARM, open_packet


def main() -> None:
    """Serve until the socket closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What is imported and compiled stays; to look for garbage in it takes time.
    gc.disable()
    control = socket.socket(fileno=os.dup(0))
    packet = control.recv(LONGEST_PACKET)
    if not packet:
        return
    sys.path[:], settings = open_packet(packet)
    compiler = BackgroundCompiler()
    # Not before: the import takes as long as a part of the compiling.
    child = import_module("stowage_optimizer.service.child")
    serve(control, child.prepare(settings, compiler))


def serve(control: socket.socket, solve: Callable[[Connection], None]) -> None:
    """Fork a child for each packet from ``control`` until it closes, and report how children end."""
    control.send(WARM)
    children: dict[int, tuple[int, socket.socket]] = {}
    while True:
        for ready in wait([control, *children]):
            if isinstance(ready, int):
                pid, report = children.pop(ready)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                os.close(ready)
                with report, suppress(OSError):
                    report.send(str(code).encode())
                continue
            packet, descriptors, _, _ = socket.recv_fds(control, LONGEST_PACKET, 2)
            if not packet:
                return
            report = socket.socket(fileno=descriptors[1])
            pid = _fork(descriptors[0], solve, (control, report, *(other for _, other in children.values())))
            pidfd = os.pidfd_open(pid)
            children[pidfd] = pid, report
            with suppress(OSError):
                socket.send_fds(report, [FORK], [pidfd])


def _fork(descriptor: int, solve: Callable[[Connection], None], others: Iterable[socket.socket]) -> int:
    """Return the process id of a child that solves, and has none of the ``others``."""
    child = os.fork()
    if child:
        os.close(descriptor)
        return child
    exit_code = 1
    try:
        for one in others:
            one.close()
        os.close(0)
        with Connection(descriptor) as connection:
            solve(connection)
        exit_code = 0
    finally:
        # Never back into the fork server's loop, whatever happened.
        os._exit(exit_code)
    return 0  # pragma: no cover - os._exit does not return


if __name__ == "__main__":
    main()
