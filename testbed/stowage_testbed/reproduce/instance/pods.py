"""The pods of an instance, by name and by number."""

from __future__ import annotations

from collections.abc import Mapping

from stowage_testbed.reproduce.instance.rows import PENDING, Where
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.simulation import NAMESPACE


def numbered(scenario: Scenario, nodes: Mapping[str, str | None]) -> Where:
    """Return where the pods are, by their number, from where they are by name.

    Parameters
    ----------
    scenario
        Its pods are called ``<workload>-<number>``.
    nodes
        By ``namespace/name``.
    """
    (pool,) = scenario.nodes
    numbers: dict[str | None, int] = {
        name: number for number, name in enumerate(pool.node_names())
    }
    numbers[None] = PENDING
    return tuple(numbers[nodes[f"{NAMESPACE}/{name}"]] for name in pod_names(scenario))


def pod_names(scenario: Scenario) -> list[str]:
    """Return the names of the pods in the order of arrival."""
    return [
        f"{one.name}-{number}"
        for one in scenario.workload
        for number in range(one.replicas)
    ]
