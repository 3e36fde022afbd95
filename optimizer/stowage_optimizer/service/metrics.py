"""What the service counts, for Prometheus on 127.0.0.1."""

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.errors import OptimizerError
from stowage_optimizer.service.updates import PROGRESS

BUCKETS_S = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)
"""Solves take from milliseconds up to the longest limits in use."""


class Metrics:
    """The service's own metrics, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._solves = Counter(
            "stowage_optimizer_solves", "Solves that ended.", ["strategy", "end_reason"], registry=self.registry
        )
        self._seconds = Histogram(
            "stowage_optimizer_solve_seconds",
            "Wall-clock time of a call, in seconds.",
            buckets=BUCKETS_S,
            registry=self.registry,
        )
        self.killed = Counter(
            "stowage_optimizer_killed", "Solves that overran their limit and were killed.", registry=self.registry
        )
        self.verify_failures = Counter(
            "stowage_optimizer_verify_failures", "Plans that broke a rule and were withheld.", registry=self.registry
        )
        self.inflight = Gauge("stowage_optimizer_inflight", "Solves running now.", registry=self.registry)
        self._progress = Gauge(
            "stowage_optimizer_progress",
            "The tier that the solve at hand works on: priority, incumbent, bounds.",
            ["what"],
            registry=self.registry,
        )

    def progressed(self, progress: pb.Progress) -> None:
        """Show the progress of the current solve, else the end of the last one."""
        for what in PROGRESS:
            self._progress.labels(what).set(getattr(progress, what))

    def ended(self, strategy: str, end_reason: str, seconds: float) -> None:
        """Count one solve that ended."""
        self._solves.labels(strategy, end_reason).inc()
        self._seconds.observe(seconds)


@contextmanager
def metrics_served(metrics: Metrics, port: int) -> Iterator[None]:
    """Serve ``metrics`` over HTTP on 127.0.0.1, as long as the ``with`` block lasts.

    Raises
    ------
    OptimizerError
        The port is taken.
    """
    try:
        server, thread = start_http_server(port, addr="127.0.0.1", registry=metrics.registry)
    except OSError as error:
        why = error.strerror or str(error)
        raise OptimizerError(
            f"cannot serve metrics on 127.0.0.1:{port}: {why}; choose another --metrics-port, or 0 for none"
        ) from None
    yield
    server.shutdown()
    server.server_close()
    thread.join()
