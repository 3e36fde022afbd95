"""`python -m stowage_testbed.hostpods`: play kubelet for one node until stopped."""

import argparse
import asyncio
import logging
import os
import signal
from pathlib import Path

from stowage_testbed.hostpods.kubelet import HostKubelet
from stowage_testbed.hostpods.node import LONGEST_BACKOFF_S, ApiServer, LoopClock


async def serve(options: argparse.Namespace) -> None:
    """Run the kubelet until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    kubelet = HostKubelet(
        api=ApiServer(options.kubeconfig),
        name=options.node,
        workdir=options.workdir.resolve(),
        clock=LoopClock(),
        longest_backoff_s=options.backoff_maximum_s,
    )
    await kubelet.run(stop)


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="python -m stowage_testbed.hostpods")
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--workdir", type=Path, required=True)
    parser.add_argument("--node", required=True)
    parser.add_argument("--backoff-maximum-s", type=float, default=LONGEST_BACKOFF_S)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    asyncio.run(serve(parser.parse_args()))
    # The watching thread may block in a read that will never be answered.
    os._exit(0)


if __name__ == "__main__":
    main()
