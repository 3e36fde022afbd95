"""What of an object is recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from stowage_testbed.trace.format import Node, Owner
from stowage_testbed.trace.reducing import find_owner, reduce_node, reduce_object
from stowage_testbed.trace.reducing_pods import identify, reduce_pod

OBJECTS: dict[str, dict[str, dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("reduced.yaml").read_text("utf-8")
)["objects"]
POD = OBJECTS["a pod keeps what placing it depends on"]["given"]
ZONE = {"topology.kubernetes.io/zone": "a"}


@pytest.mark.parametrize("what", OBJECTS)
def test_of_an_object_only_what_scheduling_depends_on_is_recorded(what: str) -> None:
    """No image, no command, no secret, and nothing that another server refuses."""
    recorded = reduce_object(OBJECTS[what]["given"])

    assert recorded == OBJECTS[what]["recorded"]
    assert "hunter2" not in json.dumps(recorded)


def test_pods_that_a_node_made_keep_to_it() -> None:
    """Nobody can make them again on that node otherwise."""
    owner = {"ownerReferences": [{"kind": "Node", "name": "n1"}]}
    made = reduce_pod({**POD, "metadata": {**POD["metadata"], **owner}})

    assert "n1" in json.dumps(made.spec["affinity"])
    assert made.spec["tolerations"] == [{"operator": "Exists"}]
    assert "hunter2" not in json.dumps([made.spec, made.annotations])


@pytest.mark.parametrize(("node", "zone"), [("n", {}), ("", ZONE)])
def test_a_bound_pod_is_like_one_that_waits(node: str, zone: dict[str, str]) -> None:
    """The server labels it with the zone of its node when it is bound."""
    metadata = {"labels": {"app": "shop", **ZONE}}
    pod = reduce_pod({"metadata": metadata, "spec": {"nodeName": node}})

    assert pod.labels == {"app": "shop", **zone}


def test_a_node_keeps_what_it_offers_and_who_may_use_it() -> None:
    """The taint of a cordon follows from it."""
    labels, cpus = {"zone": "a"}, ({"cpu": "4"}, {"cpu": "3"})
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    gpu = {"key": "gpu", "effect": "NoSchedule"}
    taints = [cordon, {**gpu, "timeAdded": "2026-11-26T15:00:00Z"}]
    node = {
        "metadata": {"name": "n", "labels": labels, "annotations": {"x": "hunter2"}},
        "spec": {"unschedulable": True, "taints": taints},
        "status": {"capacity": cpus[0], "allocatable": cpus[1], "images": [1]},
    }

    assert reduce_node(node) == Node(*cpus, labels, [gpu], True)


@pytest.mark.parametrize(
    ("kind", "controls", "owner"),
    [
        ("ReplicaSet", True, Owner("ReplicaSet", "o")),
        ("SparkApplication", True, None),
        ("CronJob", True, None),
        ("Job", False, None),
    ],
)
def test_only_controllers_that_are_recorded_own(
    kind: str, controls: bool, owner: Owner | None
) -> None:
    """What another operator made is nobody's: that operator is not in the replay."""
    reference = {"kind": kind, "name": "o", "controller": controls}
    assert find_owner({"metadata": {"ownerReferences": [reference]}}) == owner


def test_equal_pods_have_one_template() -> None:
    """Whatever the order of their fields; another salt gives another name."""
    first = reduce_pod(POD)
    turned = reduce_pod({**POD, "spec": dict(reversed(POD["spec"].items()))})

    assert identify(first) == identify(turned) != identify(first, salt=1)
    assert len(identify(first)) == 8
