"""What all scenarios of a run share: the cluster, its client and watches."""

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from kubernetes.client import ApiClient, ApiException
from urllib3.exceptions import HTTPError

from stowage_testbed.api.objects import Objects
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.observe.observer import Observer
from stowage_testbed.run.release import Serving

PROBLEMS = (StowageError, ApiException, HTTPError)
"""What a run records as its error; anything else is a fault of the testbed itself."""


def in_words(problem: Exception) -> str:
    """Return one of ``PROBLEMS`` as text for a run's record."""
    return str(problem) if isinstance(problem, StowageError) else f"the API server failed: {problem}"


def catch_problem(act: Callable[[], object]) -> str:
    """Do it, and return what went wrong in words; empty if nothing did."""
    try:
        act()
    except PROBLEMS as problem:
        return in_words(problem)
    return ""


class Stopwatch:
    """Times named steps that follow one another."""

    def __init__(self) -> None:
        self.durations_s: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time what is done inside, also if it fails; time under a name used before is added."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.durations_s[name] = self.durations_s.get(name, 0.0) + time.monotonic() - start


@dataclass(slots=True)
class RunContext:
    """A live cluster and its watches.

    `tag` ends the names of the run's namespaces, which outlive a scenario by seconds. A `lasting` cluster outlives the
    run, so that also an interrupted scenario is cleared. `serving` is the release that was installed last, for the next
    scenario that wants the same; ``None`` if a scenario may have spoilt it.
    """

    cluster: Cluster
    api: ApiClient
    observer: Observer
    tag: str
    lasting: bool = False
    serving: Serving | None = None

    @property
    def objects(self) -> Objects:
        """Requests to the cluster's API server."""
        return Objects(self.api)


def make_run_id() -> str:
    """Return a name for a run: its time, and what keeps two of one second apart."""
    return f"{datetime.now(tz=UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
