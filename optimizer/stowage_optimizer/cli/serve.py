"""`serve`: the service in the foreground, until SIGTERM or Ctrl-C."""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from stowage_optimizer.service.logs import configure_logging
from stowage_optimizer.service.server import Service
from stowage_optimizer.service.settings import ServiceSettings, WorkerSettings

SWITCH_S = 0.0005
"""How long a thread that computes keeps others waiting."""


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    settings = parse_settings(arguments)
    # Only the solver uses more than one thread; the maths library behind numpy would
    # map gigabytes for threads that never run.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A plan is checked while other calls wait for their answers.
    sys.setswitchinterval(SWITCH_S)
    configure_logging()
    asked_to_stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked_to_stop.set())
    if "--end-with-stdin" in arguments:
        threading.Thread(target=_await_end, args=(asked_to_stop,), daemon=True).start()
    service = Service(settings)
    service.start()
    try:
        asked_to_stop.wait()
    finally:
        service.stop()
    return 0


def _await_end(asked_to_stop: threading.Event) -> None:
    """Ask to stop when standard input ends, as it does when its writer dies."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    asked_to_stop.set()


def parse_settings(arguments: Sequence[str]) -> ServiceSettings:
    """Return the settings that ``arguments`` ask for."""
    defaults = ServiceSettings(socket=Path())
    worker = defaults.worker
    parser = argparse.ArgumentParser(
        prog="stowage-optimizer serve",
        description="Serve the contract on a Unix socket.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--socket", type=Path, required=True, help="path to serve on")
    for option, default, meaning in (
        ("--metrics-port", defaults.metrics_port, "on 127.0.0.1; 0: no metrics"),
        ("--time-limit-s", worker.time_limit_s, "of a solve that names none"),
        ("--memory-limit-bytes", worker.memory_limit_bytes, "that a solve may use"),
        ("--workers", worker.workers, "threads; 0: all cores"),
        ("--max-request-bytes", defaults.max_request_bytes, "larger requests are refused"),
        ("--queue-length", defaults.queue_length, "calls that may wait"),
        ("--strategies", worker.strategies, "module:function that brings the strategies"),
    ):
        parser.add_argument(option, type=type(default), default=default, help=meaning)
    parser.add_argument(
        "--end-with-stdin",
        action="store_true",
        help="end when standard input does: with whoever started this, however it ends",
    )
    given = parser.parse_args(arguments)
    return ServiceSettings(
        socket=given.socket,
        metrics_port=given.metrics_port,
        max_request_bytes=given.max_request_bytes,
        queue_length=given.queue_length,
        worker=WorkerSettings(
            time_limit_s=given.time_limit_s,
            memory_limit_bytes=given.memory_limit_bytes,
            workers=given.workers,
            strategies=given.strategies,
        ),
    )
