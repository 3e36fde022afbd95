"""How often the checker looks grows with classes, and not with pods or nodes.

Clusters have far more pods and nodes than kinds of them. A plan waits for its check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import pytest
from snapshot_builder import SnapshotBuilder

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify import eligibility, index, places, verify_plan

LOOKS: list[tuple[ModuleType, str]] = [
    (eligibility, "problems"),
    (index, "pod_labels_match"),
    (index, "term_speaks_of"),
    (index, "covers"),
    (places, "clash"),
]
"""What is asked of a class and a node, or of a class and what speaks of it."""


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Return the calls of each look, by its name."""
    counted: Counter[str] = Counter()
    for module, name in LOOKS:
        look = partial(_count, counted, name, getattr(module, name))
        monkeypatch.setattr(module, name, look)
    return counted


def _count(
    counted: Counter[str], name: str, look: Callable[..., Any], *arguments: Any
) -> Any:
    counted[name] += 1
    return look(*arguments)


def check(*, classes: int, nodes: int, pods: int) -> list[str]:
    """Check a plan that lets running pods of each class make way for others.

    Returns the rules that it breaks: pods of a class come to one node and clash.
    """
    builder, plan = SnapshotBuilder(), pb.Plan(snapshot_id="snapshot-1")
    names = [f"n{number}" for number in range(nodes)]
    for name in names:
        builder.node(name, labels={"disk": "ssd", "host": name})
    for number in range(classes):
        for name, priority in ((f"low-{number}", 0), (f"high-{number}", 1)):
            one = builder.pod_class(name, priority=priority)
            one.labels["app"] = name
            one.node_selector["disk"] = "ssd"
            one.host_ports.add(port=number)
            selects = pb.LabelSelector(match_labels={"app": name})
            one.required_pod_anti_affinity.add(
                topology_key="host", label_selector=selects
            )
            builder.message.disruption_budgets.add(
                namespace="default", name=name, selector=selects, disruptions_allowed=9
            )
        for pod in range(pods):
            node = names[pod % nodes]
            builder.pod(f"low-{number}-{pod}", of=f"low-{number}", node=node)
            builder.pod(f"high-{number}-{pod}", of=f"high-{number}")
            plan.evictions.add(pod_uid=f"low-{number}-{pod}", node=node)
            plan.placements.add(pod_uid=f"high-{number}-{pod}", node=node)
    found = verify_plan(builder.message, plan, pb.POLICY_STRICT)
    return [violation.rule for violation in found]


def test_more_pods_on_more_nodes_need_no_more_looks(looks: Counter[str]) -> None:
    """Pods of a class, and nodes that are alike to it, are looked at together."""
    check(classes=3, nodes=2, pods=4)
    few = looks.copy()
    looks.clear()

    broken = check(classes=3, nodes=8, pods=64)

    assert looks == few
    assert few.keys() == {name for _, name in LOOKS}
    # Yet each pod is told of.
    assert broken.count("host-ports") >= 3 * 64


def test_looks_grow_as_classes_do(looks: Counter[str]) -> None:
    """Classes that speak of themselves alone are not compared with one another."""
    check(classes=2, nodes=2, pods=2)
    few = looks.copy()
    looks.clear()

    check(classes=20, nodes=2, pods=2)

    for name in ("problems", "pod_labels_match", "term_speaks_of", "covers"):
        assert looks[name] == 10 * few[name]
