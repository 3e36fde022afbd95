"""A replay that begins as the recording began."""

from __future__ import annotations

from pathlib import Path

import pytest
from step_environment import StepEnvironment

from stowage_testbed.api.client import Manifest
from stowage_testbed.observe.pod_body import node_of
from stowage_testbed.scenario.of_trace import make_scenario_of_trace
from stowage_testbed.trace.format import (
    Header,
    Node,
    NodeSeen,
    ObjectSeen,
    Owner,
    PodBound,
    PodCame,
    PodTemplate,
    Template,
)
from stowage_testbed.trace.writing import TraceWriter

pytestmark = pytest.mark.e2e

ROOM = {"cpu": "1", "memory": "1Gi", "pods": "10"}
SPEC = {
    "containers": [
        {
            "name": "main",
            "image": "pause",
            "resources": {"requests": {"cpu": "400m"}},
        }
    ]
}
LABELS = {"app": "web"}
WEB: Manifest = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": SPEC},
    },
}


def test_pods_begin_where_they_were_and_later_ones_are_the_schedulers(
    environment: StepEnvironment, tmp_path: Path
) -> None:
    """Two of one Deployment stood on one node, where no scheduler would put them."""
    trace = tmp_path / "day.jsonl.gz"
    header = Header(1, "2026-11-26T15:00:00Z", "1.37.2", {"shop": {}})
    names, web = ("then-0", "then-1"), Owner("Deployment", "web")
    with TraceWriter(trace, header) as writer:
        for name in names:
            writer.write(NodeSeen(t=0, name=name, node=Node(ROOM, ROOM)))
        writer.write(ObjectSeen(t=0, object=WEB))
        writer.write(Template(t=0, id="a", template=PodTemplate(LABELS, {}, SPEC)))
        writer.write(Template(t=0, id="b", template=PodTemplate({}, {}, SPEC)))
        for name in ("web-1", "web-2"):
            writer.write(PodCame(t=0, namespace="shop", name=name, of="a", owner=web))
            writer.write(PodBound(t=0, namespace="shop", name=name, node="then-1"))
        writer.write(PodCame(t=0.2, namespace="shop", name="late", of="b"))

    outcome = environment.play_scenario(make_scenario_of_trace(trace, tmp_path))

    assert outcome.error == ""
    nodes = sorted(
        (pod["metadata"]["name"][:3], node_of(pod)) for pod in environment.pods
    )
    assert nodes == [("lat", "then-0"), ("web", "then-1"), ("web", "then-1")]
