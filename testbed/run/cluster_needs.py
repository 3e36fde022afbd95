"""What the cluster must be like that scenarios are to run on."""

from __future__ import annotations

from collections.abc import Iterable

from testbed.cluster.kwok_binary import KwokBinaryCluster
from testbed.hpa.live.cluster import recovery_cluster
from testbed.hpa.settings import Timing
from testbed.run.errors import ClusterNeedsError
from testbed.scenario.model import Scenario
from testbed.scenario.steps.model import Overload


def cluster_for(name: str, scenarios: Iterable[Scenario]) -> KwokBinaryCluster:
    """Return a cluster, not yet up, that suits every scenario.

    Raises
    ------
    ClusterNeedsError
        Two of them overload a service, and measure its usage at different times.
    """
    needs = {
        scenario.scenario_id: step.action.settings.timing
        for scenario in scenarios
        for step in scenario.steps
        if isinstance(step.action, Overload)
    }
    if not needs:
        return KwokBinaryCluster(name)
    timing, *others = set(needs.values())
    if others:
        raise ClusterNeedsError({who: _in_words(what) for who, what in needs.items()})
    return recovery_cluster(name, timing)


def _in_words(timing: Timing) -> str:
    return (
        f"usage measured every {timing.resolution_s} s and looked at every "
        f"{timing.sync_s} s"
    )
