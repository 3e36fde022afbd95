"""The lying optimiser as a command, in the place of the honest one.

``python -m stowage_testbed.faults.hostile --control FILE serve --socket=... ...``
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import grpc

from stowage_testbed.child import end_child
from stowage_testbed.faults.hostile.proxy import STOP_S, serve, way_in

HONEST = Path(sys.executable).with_name("stowage-optimizer")
END_TIMEOUT_S = 5.0


def main() -> None:
    """Serve until SIGTERM; any other command than `serve` is the honest one's."""
    parser = argparse.ArgumentParser(prog="python -m stowage_testbed.faults.hostile")
    parser.add_argument("--control", type=Path, required=True)
    parser.add_argument("command")
    options, rest = parser.parse_known_args()
    if options.command != "serve":
        os.execv(HONEST, [str(HONEST), options.command, *rest])  # noqa: S606
    sockets = argparse.ArgumentParser()
    sockets.add_argument("--socket", type=Path, required=True)
    asked, rest = sockets.parse_known_args(rest)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with tempfile.TemporaryDirectory(prefix="lie-") as folder:
        honest = Path(folder) / "honest.sock"
        service = subprocess.Popen([HONEST, "serve", f"--socket={honest}", *rest])
        # The channel connects when the service listens; until then calls wait.
        with grpc.insecure_channel(f"unix:{honest}") as channel:
            grpc.channel_ready_future(channel).result()
            server = serve(asked.socket, channel, lambda: way_in(options.control))
            stop.wait()
            server.stop(STOP_S).wait()
        end_child(service, END_TIMEOUT_S)


if __name__ == "__main__":
    main()
