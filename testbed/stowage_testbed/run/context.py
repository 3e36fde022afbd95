"""What all steps of a run share: the cluster, its client, watches and deadlines."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime

from kubernetes import client

from stowage_testbed.api.objects import Objects
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.observe.observer import Observer
from stowage_testbed.run.serving import LastRelease
from stowage_testbed.run.timeouts import DEFAULT_TIMEOUTS, Timeouts


@dataclass(frozen=True, slots=True)
class RunContext:
    """A live cluster, its watches, and the deadlines of the run.

    Attributes
    ----------
    tag
        Ends the names of the run's namespaces, which outlive a scenario by seconds.
    lasting
        The cluster outlives the run, so that also an interrupted scenario is cleared.
    """

    cluster: Cluster
    api: client.ApiClient
    observer: Observer
    tag: str
    lasting: bool = False
    timeouts: Timeouts = DEFAULT_TIMEOUTS
    last_release: LastRelease = field(default_factory=LastRelease)

    @property
    def objects(self) -> Objects:
        """Requests to the cluster's API server."""
        return Objects(self.api)


def make_run_id() -> str:
    """Return a name for a run: its time, and what keeps two of one second apart."""
    now = datetime.now(tz=UTC)
    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
