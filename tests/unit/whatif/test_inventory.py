"""What is read of a cluster, what is left behind, and which of the pods that wait are judged."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from stowage_testbed.base.errors import InputError
from stowage_testbed.whatif.findings import Elsewhere
from stowage_testbed.whatif.inventory import (
    NAMESPACE_NAME,
    Inventory,
    inventory_of,
    reduced,
    shown_pods,
    unreadable_needs,
    waiting_elsewhere,
)
from stowage_testbed.whatif.reading import read_files

REDUCED: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("reduced.yaml").read_text("utf-8"))[
    "objects"
]
MAKE = "kubectl get nodes,pods,pdb -A -o json"
NODE: dict[str, Any] = {"kind": "Node", "metadata": {"name": "n"}}


def a_pod(name: str, *, priority: int | None = None, **more: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [{"name": "c"}]}
    if priority is not None:
        spec["priority"] = priority
    metadata = {"name": name, "namespace": "default"}
    return {"kind": "Pod", "metadata": metadata, "spec": spec, **more}


def listed(folder: Path, *items: object, name: str = "all.json") -> Path:
    file = folder / name
    file.write_text(json.dumps({"kind": "List", "items": items}))
    return file


def test_pods_come_in_the_order_in_which_the_scheduler_takes_them() -> None:
    """Who comes first decides what fits as things are; ended pods hold nothing."""
    old, new = a_pod("b"), a_pod("a", status={"phase": "Running"})
    old["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    new["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
    ended = [a_pod(name, status={"phase": name}) for name in ("Succeeded", "Failed")]
    found = inventory_of([NODE, new, old, *ended, a_pod("urgent", priority=9)])
    assert [pod["metadata"]["name"] for pod in found.pods] == ["urgent", "b", "a"]


@pytest.mark.parametrize(
    ("kubelets", "version", "minor"),
    [
        (["v1.36.2", "v1.36.10", "kwok-v0.8.0"], "v1.36.10", "1.36"),
        (["v1.37.0-gke.12"], "v1.37.0-gke.12", "1.37"),
        (["v1.99.0"], "v1.99.0", "1.37"),
        (["v1.30.1"], "v1.30.1", "1.36"),
        ([None, {}, "x"], "", "1.37"),
    ],
)
def test_files_are_judged_by_the_scheduler_of_their_nodes(kubelets: list[Any], version: str, minor: str) -> None:
    """Its own, or the newest before it: what a newer one does is no news of today."""
    nodes = [
        NODE | {"status": {"nodeInfo": {"kubeletVersion": kubelet}}} | {"metadata": {"name": f"n{number}"}}
        for number, kubelet in enumerate(kubelets)
    ]
    found = inventory_of([*nodes, a_pod("a")])
    assert (found.version, found.minor) == (version, minor)


@pytest.mark.parametrize("case", REDUCED.values(), ids=REDUCED)
def test_what_may_hold_secrets_is_not_kept_and_all_else_is(case: dict[str, Any]) -> None:
    """The scheduler has no use for it, and it would lie in memory and in pipes."""
    kept = reduced(case["given"])

    assert kept == case["kept"]
    assert "hunter2" not in json.dumps(kept)


def test_what_is_not_in_the_files_is_said_to_be_not_judged(tmp_path: Path) -> None:
    """Budgets that were not read are not kept; devices count where a pod claims one, groups where a pod is in one."""

    def unread(*more: dict[str, Any], pod: dict[str, Any]) -> str:
        return " ".join(read_files([listed(tmp_path, NODE, pod, *more)]).unread)

    budget = {"kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
    claiming = a_pod("a")
    claiming["spec"]["resourceClaims"] = [{"name": "gpu"}]

    grouped = a_pod("a")
    grouped["spec"]["schedulingGroup"] = {"podGroupName": "g"}

    assert "pod groups" in unread(pod=grouped)
    assert "pod groups" not in unread(pod=a_pod("a"))
    assert "disruption budgets" in unread(pod=a_pod("a"))
    assert "disruption budgets" not in unread(budget, pod=a_pod("a"))
    assert "devices" not in unread(pod=a_pod("a"))
    assert "devices" in unread(pod=claiming)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_file_is_read_as_powershell_writes_it(tmp_path: Path, encoding: str) -> None:
    """`kubectl get ... > all.json` is UTF-16 there."""
    file = tmp_path / "all.json"
    file.write_bytes(json.dumps({"kind": "List", "items": [NODE, a_pod("ä")]}, ensure_ascii=False).encode(encoding))
    (pod,) = read_files([file]).pods
    assert pod["metadata"]["name"] == "ä"


def test_a_kind_of_another_group_is_another_kind() -> None:
    """Longhorn has a Node for each node, of the same name."""
    longhorn = {**NODE, "apiVersion": "longhorn.io/v1beta2", "spec": {"disks": {}}}
    assert inventory_of([NODE, longhorn, a_pod("a")]).nodes == (NODE,)
    group = {"kind": "PodGroup", "metadata": {"name": "g"}}
    groups = [{**group, "apiVersion": f"{one}/v1beta1"} for one in ("scheduling.k8s.io", "scheduling.volcano.sh")]
    assert inventory_of([NODE, a_pod("a"), *groups]).objects == (groups[0],)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, f"cannot be read.*{MAKE}"),
        ("nonsense", f"is not JSON.*{MAKE}"),
        ("[]", f"holds no Kubernetes objects.*{MAKE}"),
        ('{"items": []}', f"holds no Kubernetes objects.*{MAKE}"),
        # An answer about no nodes would be that nothing fits.
        (json.dumps(NODE), "no pods"),
        (json.dumps({"kind": "List", "items": [a_pod("a")]}), "no nodes"),
    ],
)
def test_a_file_that_is_no_cluster_is_refused(tmp_path: Path, text: str | None, said: str) -> None:
    """Mostly it is the output without -o json, or a wrong path."""
    file = tmp_path / "f.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(InputError, match=said):
        read_files([file])


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


@pytest.mark.parametrize(
    ("item", "subject", "reason"),
    [
        (7, "item 3 of all.json", "no Kubernetes object"),
        ({"kind": "Pod"}, "a Pod", "metadata.name: missing"),
        ({"kind": "Pod", "metadata": 7}, "a Pod", "metadata.name: missing"),
        ({"kind": "Service", "metadata": {}}, "a Service", "metadata.name: missing"),
        ({"kind": 7}, "item 3 of all.json", "no Kubernetes object"),
    ],
)
def test_an_item_that_has_no_name_is_left_out_and_told(tmp_path: Path, item: object, subject: str, reason: str) -> None:
    """One odd object must not cost the answer about all others."""
    found = read_files([listed(tmp_path, NODE, a_pod("a"), item)])
    (left_out,) = found.left_out
    assert left_out.object == subject
    assert reason in left_out.reason
    assert len(found.pods) == 1


@pytest.mark.parametrize("odd", [None, 7, "x", [], [7], {}, {"a": None}])
@pytest.mark.parametrize("part", ["spec", "status"])
@pytest.mark.parametrize("field", ["", "containers", "priority", "images", "volumes", "containerStatuses"])
def test_whatever_is_in_a_field_goes_to_the_scheduler(part: str, field: str, odd: object) -> None:
    """It says what it cannot read of an object, and leaves that object out."""
    for one in (a_pod("odd"), {**NODE, "metadata": {"name": "odd"}}):
        value = {**one.get(part, {}), field: odd} if field else odd
        found = inventory_of([NODE, a_pod("a"), {**one, part: value}])
        assert len(found.nodes) + len(found.pods) == 3


def test_objects_are_read_from_lists_of_any_kind_and_in_lists(tmp_path: Path) -> None:
    """The API server's lists have a kind, which items take; kubectl's hold all.

    Files overlap, and the one that is named last was mostly made last.
    """
    typed = tmp_path / "typed.json"
    item = {key: value for key, value in a_pod("a").items() if key != "kind"}
    typed.write_text(json.dumps({"kind": "PodList", "items": [item]}))
    inner = {"kind": "PodDisruptionBudgetList", "apiVersion": "policy/v1", "items": [{"metadata": {"name": "d"}}]}
    last = listed(tmp_path, NODE, a_pod("a", priority=2), name="last.json")

    found = read_files([listed(tmp_path, NODE, inner), typed, last])

    assert [pod["spec"].get("priority") for pod in found.pods] == [2]
    assert (len(found.nodes), found.left_out) == (1, ())
    (budget,) = found.objects
    kind = (budget["kind"], budget["apiVersion"])
    assert kind == ("PodDisruptionBudget", "policy/v1")


def judged_pod(name: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ns", "uid": name}
    return {"kind": "Pod", "metadata": metadata, "spec": spec}


def selecting(name: str, kind: str, label: str) -> dict[str, Any]:
    term = {"namespaceSelector": {"matchLabels": {label: "x"}}}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return judged_pod(name, affinity={kind: {required: [term]}})


def test_pods_of_a_release_are_judged_whatever_its_scheduler_is_called() -> None:
    """The simulated scheduler has one name; who waits for another is counted."""
    leaving = judged_pod("f", schedulerName="x")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    pods = (
        judged_pod("a", schedulerName="mine"),
        judged_pod("b"),
        judged_pod("c", schedulerName="x"),
        judged_pod("d", schedulerName="x", nodeName="n"),
        judged_pod("e", schedulerName="x", schedulingGates=[{"name": "g"}]),
        leaving,
    )

    inventory = Inventory(({},), pods)

    names = [pod["spec"]["schedulerName"] for pod in shown_pods(inventory, ("mine",))]
    assert names[:3] == ["default-scheduler", "not-judged/default-scheduler", "x"]
    assert waiting_elsewhere(inventory, ("mine",)) == (Elsewhere("default-scheduler", 1), Elsewhere("x", 1))


def asking(resource: str) -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {resource: "1"}}}
    return judged_pod("asks", containers=[container])


@pytest.mark.parametrize(
    ("pod", "unread", "judged"),
    [
        # No node lists what a device class serves, and yet nodes may have the devices.
        (asking("example.com/gpu"), "DeviceClass", False),
        (asking("example.com/none"), "DeviceClass", False),
        (asking("deviceclass.resource.kubernetes.io/gpus"), "DeviceClass", False),
        (asking("example.com/fpga"), "DeviceClass", True),
        (asking("example.com/gpu"), "", True),
        (asking("example.com/gpu"), "ResourceSlice", True),
        (asking("cpu"), "DeviceClass", True),
        (asking("hugepages-2Mi"), "DeviceClass", True),
        # A namespace's name is known without reading it; other labels are not.
        (selecting("asks", "podAffinity", "team"), "Namespace", False),
        (selecting("asks", "podAntiAffinity", "team"), "Namespace", False),
        (selecting("asks", "podAffinity", NAMESPACE_NAME), "Namespace", True),
        (selecting("asks", "podAffinity", "team"), "", True),
    ],
)
def test_who_asks_for_what_was_not_read_is_not_judged(pod: dict[str, Any], unread: str, *, judged: bool) -> None:
    """It would be told to fit nowhere, or anywhere."""
    has = {"example.com/fpga": "1", "example.com/none": "0"}
    node = {"metadata": {"name": "n"}, "status": {"allocatable": has}}
    plain = judged_pod("plain", containers=[{"name": "c"}])
    objects = [{"kind": "Node", **node}, pod, plain]
    found = unreadable_needs(inventory_of(objects, [unread] if unread else []))
    assert set(found) == (set() if judged else {"asks"})
