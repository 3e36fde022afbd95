"""`python -m stowage_testbed.hostpods`: play kubelet for one node until stopped."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
from pathlib import Path

from stowage_testbed.hostpods.api import ApiServer
from stowage_testbed.hostpods.backoff import BackoffLimits
from stowage_testbed.hostpods.clock import SystemLoopClock
from stowage_testbed.hostpods.kubelet import HostKubelet, HostNode


def arguments() -> argparse.Namespace:
    """Read the command line."""
    limits = BackoffLimits()
    parser = argparse.ArgumentParser(prog="python -m stowage_testbed.hostpods")
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--workdir", type=Path, required=True)
    parser.add_argument("--node", default="stowage-host")
    parser.add_argument("--parent-pid", type=int, help="end when this process ends")
    parser.add_argument("--backoff-initial-s", type=float, default=limits.initial_s)
    parser.add_argument("--backoff-maximum-s", type=float, default=limits.maximum_s)
    return parser.parse_args()


async def serve(options: argparse.Namespace) -> None:
    """Run the kubelet until SIGTERM, SIGINT or the parent's end."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if options.parent_pid is not None:
        # Readable as soon as the process has ended.
        loop.add_reader(os.pidfd_open(options.parent_pid), stop.set)
    node = HostNode(
        api=ApiServer(options.kubeconfig),
        name=options.node,
        workdir=options.workdir.resolve(),
        clock=SystemLoopClock(),
        backoff=BackoffLimits(options.backoff_initial_s, options.backoff_maximum_s),
    )
    await HostKubelet(node).run(stop)


def main() -> None:
    """Set up logging and serve."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    options = arguments()
    asyncio.run(serve(options))
    # The watching thread may block in a read that will never be answered.
    os._exit(0)


if __name__ == "__main__":
    main()
