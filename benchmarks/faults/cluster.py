"""One cluster for many tries: its watches, and the release that each fault needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.faults.kinds import KINDS
from benchmarks.faults.settings import Fault
from stowage_testbed.cluster import KwokBinaryCluster
from stowage_testbed.cluster.components import API_SERVER
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.cluster.supervision import supervised
from stowage_testbed.helm import Release
from stowage_testbed.helm.values import merge_values
from stowage_testbed.observe.observer import Observer
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.invariant_checks import WATCHED
from stowage_testbed.run.release import make_optimizer_values, switch_release

PROFILE = "optimizer-deterministic"
LONGEST_BACKOFF_S = 1.0
"""A kubelet would let a container that is killed again and again wait for minutes."""
PATIENCE_S = 60.0
"""How long the API server may be away."""

FAIR = {
    API_SERVER: {
        "enable-priority-and-fairness": "true",
        "max-requests-inflight": "400",
        "max-mutating-requests-inflight": "200",
    }
}
"""The API server's own defaults, which other clusters of the testbed do without: a
budget can be spent only where there is one."""

VALUES: Mapping[str, Any] = {
    "priorityOptimizer": {
        # A second plan has to put right what a fault cut short.
        "coolDownSeconds": 0,
        "stepTimeoutSeconds": 5,
        "readyTimeoutSeconds": 10,
        "planTimeoutSeconds": 30,
    }
}


@dataclass(slots=True)
class FaultCluster:
    """The cluster, what is installed on it, and values of every release there."""

    run: RunContext
    always: Mapping[str, Any]
    _values: Mapping[str, Any] | None = None
    _release: Release | None = field(default=None)

    @property
    def release(self) -> Release:
        """The release that serves now."""
        assert self._release is not None  # noqa: S101 - `release_for` was called
        return self._release

    def release_for(self, fault: Fault) -> Release:
        """Return the release as a fault needs it; it serves."""
        optimizer = make_optimizer_values(fault.scenario.optimizer)
        values = merge_values(merge_values(VALUES, self.always), optimizer)
        further = KINDS[fault.settings.do].values(self.run.cluster)
        values = merge_values(values, further)
        if self._release is None or values != self._values:
            serving = switch_release(self.run, PROFILE, optimizer_enabled=True, values=values)
            self._release, self._values = serving.release, values
            for source in WATCHED:
                self.run.observer.watch(source)
        return self._release


@contextmanager
def open_fault_cluster(
    name: str, folders: tuple[Path, ...] = (), always: Mapping[str, Any] | None = None
) -> Iterator[FaultCluster]:
    """Yield a fault cluster of that name, which is gone afterwards.

    Its disk is watched, and those of the folders in which results are written.
    """
    cluster = KwokBinaryCluster(name, extra_args=FAIR, longest_backoff_s=LONGEST_BACKOFF_S)
    with (
        running_cluster(cluster),
        supervised(cluster, folders),
        cluster.api_client() as api,
        Observer(api) as observer,
        observer.patient(PATIENCE_S),
    ):
        run = RunContext(cluster, api, observer, tag=name[-4:], lasting=False)
        yield FaultCluster(run, always or {})
