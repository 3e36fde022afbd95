"""What is read of a cluster, and what is left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stowage_testbed.errors import InputError
from stowage_testbed.whatif.inventory import inventory_of
from stowage_testbed.whatif.reading import read_files

NODE: dict[str, Any] = {"kind": "Node", "metadata": {"name": "n"}}


def a_pod(name: str, *, priority: int | None = None, **more: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [{"name": "c"}]}
    if priority is not None:
        spec["priority"] = priority
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
        **more,
    }


def test_pods_come_in_the_order_in_which_the_scheduler_takes_them() -> None:
    """By priority, then by age: who comes first decides what fits as things are."""
    old, new = a_pod("b"), a_pod("a")
    old["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    new["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
    found = inventory_of([NODE, new, old, a_pod("urgent", priority=9)])
    assert [pod["metadata"]["name"] for pod in found.pods] == ["urgent", "b", "a"]


def test_pods_that_have_ended_hold_nothing() -> None:
    """Their nodeName stays, their room does not."""
    ended = [a_pod(name, status={"phase": name}) for name in ("Succeeded", "Failed")]
    found = inventory_of([NODE, a_pod("a", status={"phase": "Running"}), *ended])
    assert len(found.pods) == 1


def test_neither_environments_nor_commands_are_kept() -> None:
    """They may hold secrets, and the scheduler has no use for them."""
    pod = a_pod("a")
    pod["spec"]["containers"][0] |= {
        "env": [{"name": "PASSWORD", "value": "hunter2"}],
        "args": ["--password=hunter2"],
        "resources": {"requests": {"cpu": "1"}},
    }
    pod["metadata"]["annotations"] = {
        "kubectl.kubernetes.io/last-applied-configuration": "hunter2",
        "other": "kept",
    }
    found = inventory_of([NODE, pod])
    assert "hunter2" not in json.dumps(found.pods)
    deployment = {
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"replicas": 2, "template": {"spec": pod["spec"]}},
    }
    (kept,) = inventory_of([NODE, pod, deployment]).objects
    assert "hunter2" not in json.dumps(kept)
    assert kept["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert found.pods[0]["spec"]["containers"][0]["resources"]
    assert found.pods[0]["metadata"]["annotations"] == {"other": "kept"}


@pytest.mark.parametrize(
    ("objects", "said"), [([NODE], "no pods"), ([a_pod("a")], "no nodes")]
)
def test_half_a_cluster_is_refused(objects: list[dict[str, Any]], said: str) -> None:
    """An answer about no nodes would be that nothing fits."""
    with pytest.raises(InputError, match=said):
        inventory_of(objects)


def test_lists_are_read_whatever_their_kind(tmp_path: Path) -> None:
    """One of kubectl holds all kinds, one of the API server a single kind."""
    mixed = tmp_path / "mixed.json"
    mixed.write_text(json.dumps({"kind": "List", "items": [NODE]}))
    typed = tmp_path / "typed.json"
    item = {key: value for key, value in a_pod("a").items() if key != "kind"}
    typed.write_text(
        json.dumps({"kind": "PodList", "apiVersion": "v1", "items": [item]})
    )
    found = read_files([mixed, typed])
    assert (len(found.nodes), len(found.pods)) == (1, 1)


def test_what_is_not_in_the_files_is_said_to_be_not_judged(tmp_path: Path) -> None:
    """Budgets that were not read are not kept, and the user must know."""
    file = tmp_path / "all.json"
    file.write_text(json.dumps({"kind": "List", "items": [NODE, a_pod("a")]}))
    assert any("disruption budgets" in one for one in read_files([file]).unread)
    budget = {"kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
    file.write_text(json.dumps({"kind": "List", "items": [NODE, a_pod("a"), budget]}))
    assert not any("disruption budgets" in one for one in read_files([file]).unread)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense", "is not JSON"),
        ("[]", "holds no Kubernetes objects"),
        ('{"kind": "List", "items": [1]}', "an item that is no object"),
        ('{"kind": "Pod"}', "a Pod without metadata"),
    ],
)
def test_a_file_that_is_none_is_refused_with_the_way_to_make_one(
    tmp_path: Path, text: str, said: str
) -> None:
    """Mostly it is the output without -o json."""
    file = tmp_path / "f.json"
    file.write_text(text)
    with pytest.raises(InputError, match=said) as caught:
        read_files([file])
    assert "kubectl get nodes,pods,pdb -A -o json" in str(caught.value)


def test_a_file_that_is_not_there_is_said_to_be_so(tmp_path: Path) -> None:
    """No traceback for a wrong path."""
    with pytest.raises(InputError, match="cannot be read"):
        read_files([tmp_path / "none"])


def test_of_a_nodes_images_those_of_waiting_pods_are_kept() -> None:
    """A kubelet reports fifty; the scheduler looks for those of the pod it places."""
    images = [{"names": [name]} for name in ("mine:latest", "of-running:1", "other:1")]
    node = {**NODE, "status": {"images": images}}
    waiting, running = a_pod("a"), a_pod("b")
    waiting["spec"]["containers"][0]["image"] = "mine"
    running["spec"]["containers"][0]["image"] = "of-running:1"
    running["spec"]["nodeName"] = "n"

    (kept,) = inventory_of([node, waiting, running]).nodes

    assert kept["status"]["images"] == [{"names": ["mine:latest"]}]


def test_of_what_owns_pods_the_selector_is_kept() -> None:
    """The template has the secrets of the pods, once more for each old revision."""
    spec = {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"password": "hunter2"},
    }
    owner = {"kind": "ReplicaSet", "metadata": {"name": "r"}, "spec": spec}

    (kept,) = inventory_of([NODE, a_pod("a"), owner]).objects

    assert kept["spec"] == {"selector": {"matchLabels": {"a": "b"}}}


def test_volumes_that_bind_a_pod_are_kept() -> None:
    """The volume of a token is anywhere; a claim is not, and rules ask for emptyDir."""
    pod = a_pod("a")
    binding = [
        {"name": "c", "persistentVolumeClaim": {}},
        {"name": "l", "emptyDir": {}},
    ]
    pod["spec"]["volumes"] = [*binding, {"name": "t", "projected": {}}]

    assert inventory_of([NODE, pod]).pods[0]["spec"]["volumes"] == binding


def test_objects_are_read_from_lists_within_lists(tmp_path: Path) -> None:
    """Several answers of kubectl are put into one file; items take what is around."""
    file = tmp_path / "all.json"
    item = {"metadata": {"name": "d"}}
    inner = {
        "kind": "PodDisruptionBudgetList",
        "apiVersion": "policy/v1",
        "items": [item],
    }
    file.write_text(
        json.dumps({"kind": "List", "items": [NODE, a_pod("a"), inner]}), "utf-8"
    )

    (budget,) = read_files([file]).objects

    assert (budget["kind"], budget["apiVersion"]) == (
        "PodDisruptionBudget",
        "policy/v1",
    )
