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
from importlib import import_module

from stowage_optimizer.search.cache import BackgroundCompiler
from stowage_optimizer.service.settings import LONGEST_PACKET, open_packet


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
    import_module("stowage_optimizer.service.child").serve(control, settings, compiler)


if __name__ == "__main__":
    main()
