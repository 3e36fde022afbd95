"""How the service is set up, every default in one place; and how children are told."""

import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

from stowage_optimizer.strategies.registry import SHIPPED

GIB = 1024**3
MIB = 1024**2


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Limits of one solve.

    Parameters
    ----------
    memory_limit_bytes
        Address space that a solve may add to that of the warm child. About 6 MB are
        touched for every 1,000 pods.
    workers
        Solver threads where the request names none; 0 means every core.
    start_limit_s
        Time for a child to get ready, and for an answer of its fork server.
    warm_up_limit_s
        Time for a fork server to get warm; it compiles what no cache holds.
    strategies
        Path of the function that returns the strategies, ``module:function``.
    """

    time_limit_s: float = 1.0
    memory_limit_bytes: int = 2 * GIB
    workers: int = 0
    start_limit_s: float = 60.0
    warm_up_limit_s: float = 900.0
    strategies: str = SHIPPED


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """The whole service.

    Parameters
    ----------
    metrics_port
        Port on 127.0.0.1 for Prometheus; 0 means none.
    max_request_bytes
        Larger requests are refused.
    queue_length
        Calls that may wait while one is being solved; more are refused.
    """

    socket: Path
    metrics_port: int = 0
    max_request_bytes: int = 64 * MIB
    queue_length: int = 4
    worker: WorkerSettings = field(default_factory=WorkerSettings)


LONGEST_PACKET = 1024 * 64
"""Longest packet on the fork server's socket, in bytes."""

READY = b"ready"
"""The first message of a child."""

WARM = b"warm"
"""The one answer of a fork server: it is ready for requests."""

FORK = b"fork"
"""A request to a fork server, which comes with two descriptors."""

READ = b"read"
"""The message of a child that has read its request: its time limit begins."""


def opening_packet(settings: WorkerSettings) -> bytes:
    """Return the first packet, with the settings of the fork server's children."""
    return json.dumps({"path": sys.path, "settings": asdict(settings)}).encode()


def open_packet(packet: bytes) -> tuple[list[str], WorkerSettings]:
    """Return the module path and the settings of an opening packet."""
    opening = json.loads(packet)
    return opening["path"], WorkerSettings(**opening["settings"])
