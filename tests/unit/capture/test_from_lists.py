"""From lists to a file of the language, in which nothing is lost that counts."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from found_cluster import Manifest, found, node, pod, replicas, thing
from typer.testing import CliRunner

from stowage_testbed.base.errors import InputError
from stowage_testbed.capture.capture import Capture, capture
from stowage_testbed.capture.neutral import make_neutral
from stowage_testbed.capture.reading import read_lists
from stowage_testbed.capture.writing import write_scenario
from stowage_testbed.cli.main import app
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.action import actions_of
from stowage_testbed.scenario.steps.placing import Place

NO_ROOM = (
    "0/3 nodes are available: 1 node(s) had untolerated taint {team: x}, "
    "2 Insufficient cpu. preemption: 0/3 nodes are available: "
    "3 No preemption victims found."
)
SHOP = [
    node("ip-1", zone="eu-1a", **{"acme.example/rack": "r1"}),
    node("ip-2", zone="eu-1b", **{"acme.example/rack": "r2"}),
    node("gpu-1", "16", zone="eu-1a", taints=[
        {"key": "acme.example/team", "value": "vision", "effect": "NoSchedule"}]),
    *replicas("checkout", ["ip-1", "ip-2"], priority=1000, nodeSelector={
        "acme.example/rack": "r1"}),
    *replicas("huge", [""], why=NO_ROOM, cpu="40", affinity={
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "checkout"}},
             "topologyKey": "acme.example/rack"}]},
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "NotIn",
                 "values": ["gpu-1"]}]}]}}}),
    pod("ledger-0", "ip-2", owner=("StatefulSet", "ledger"), labels={"app": "ledger"},
        volumes=[{"name": "books", "persistentVolumeClaim": {
            "claimName": "books-ledger-0"}}]),
    thing("PersistentVolumeClaim", "books-ledger-0", spec={
        "accessModes": ["ReadWriteOnce"], "storageClassName": "acme-fast",
        "volumeName": "vol-77", "resources": {"requests": {"storage": "1Gi"}}}),
    thing("PersistentVolume", "vol-77", "", spec={
        "accessModes": ["ReadWriteOnce"], "storageClassName": "acme-fast",
        "capacity": {"storage": "1Gi"}, "claimRef": {"name": "books-ledger-0"},
        "csi": {"driver": "disk.acme.example", "volumeHandle": "secret-77"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "topology.kubernetes.io/zone", "operator": "In",
             "values": ["eu-1b"]}]}]}}}),
    thing("StorageClass", "acme-fast", "", provisioner="disk.acme.example"),
    thing("PodDisruptionBudget", "guard", spec={
        "maxUnavailable": 1, "selector": {"matchLabels": {"app": "checkout"}}}),
    thing("PodDisruptionBudget", "idle", spec={
        "maxUnavailable": 1, "selector": {"matchLabels": {"app": "gone"}}}),
    thing("ResourceQuota", "team-quota", spec={"hard": {"pods": "50"}}),
]  # fmt: skip


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def write(captured: Capture, folder: Path) -> Scenario:
    (scenario,) = load_file(write_scenario(captured, folder))
    return scenario


def shop(*more: Manifest) -> Capture:
    return capture(found(*SHOP, *more))


def test_pods_are_placed_where_they_were(tmp_path: Path) -> None:
    """The scheduler decides only about others, which what keeps them keeps again."""
    captured = shop()
    scenario = write(captured, tmp_path / "shop")
    (place,), end = actions_of(scenario.steps, Place), scenario.expect.end
    names = captured.nodes

    assert place.nodes == {"checkout": tuple(sorted((names["ip-1"], names["ip-2"]))), "ledger": (names["ip-2"],)}
    assert (str(end.placed), end.pending) == ("3", {"huge": 1})
    (that,) = end.that
    assert 'contains("Insufficient cpu")' in that.text
    assert 'contains("untolerated taint")' in that.text
    assert "preemption" not in that.text
    # Somebody may have gone on with it by hand.
    with pytest.raises(InputError, match="there is already a file"):
        write(captured, tmp_path / "shop")


def test_objects_name_what_they_named() -> None:
    """A volume its claim and a pod a node; a budget of no pods affects nothing."""
    captured = shop()
    objects = {one["kind"]: one for one in captured.objects}
    claim, volume = objects["PersistentVolumeClaim"], objects["PersistentVolume"]
    huge = next(one for one in captured.workloads if one.name == "huge")
    affinity = huge.spec["affinity"]["nodeAffinity"][REQUIRED]
    expression = affinity["nodeSelectorTerms"][0]["matchExpressions"][0]

    assert claim["metadata"]["name"] == "books-ledger-0"
    assert claim["spec"]["volumeName"] == volume["metadata"]["name"]
    assert "claimRef" not in volume["spec"]
    assert expression["values"] == [captured.nodes["gpu-1"]]
    assert [one["metadata"]["name"] for one in captured.objects if one["kind"] == "PodDisruptionBudget"] == ["guard"]
    # One that was lowered would refuse pods that run.
    assert [one["kind"] for one in captured.quotas] == ["ResourceQuota"]


def test_several_namespaces_are_kept_apart_by_a_label(tmp_path: Path) -> None:
    """Pods of one must not count for the spread, or the budget, of another's."""
    term = {
        "labelSelector": {"matchLabels": {"app": "checkout"}},
        "namespaceSelector": {"matchLabels": {"team": "a"}},
        "topologyKey": "z",
    }
    near = pod("near", namespace="other", affinity={"podAffinity": {REQUIRED: [term]}})
    labelled = thing("Namespace", "shop", "")
    labelled["metadata"]["labels"] = {"team": "a"}
    elsewhere = replicas("checkout", ["ip-1"], namespace="other")

    captured = shop(*elsewhere, near, labelled)

    pods = {one.name: one for one in captured.workloads}
    (kept,) = pods["other-near"].spec["affinity"]["podAffinity"][REQUIRED]
    (budget,) = (o for o in captured.objects if o["kind"] == "PodDisruptionBudget")
    of_shop = {"app": "checkout", "stowage.dev/namespace": "shop"}
    assert pods["other-checkout"].labels["stowage.dev/namespace"] == "other"
    assert kept["labelSelector"]["matchLabels"] == of_shop
    assert budget["spec"]["selector"]["matchLabels"] == of_shop
    assert list(captured.notes) == ["not taken along: 1 quotas, which are of one namespace each"]
    write(captured, tmp_path / "both")


def words_of(objects: list[Manifest]) -> set[str]:
    """Return all names, labels, values and images that are somebody's own."""
    own = re.findall(r"[\w./:-]*(?:acme|ip-\d|gpu-1|eu-1|checkout|ledger|books)[\w./:-]*", json.dumps(objects))
    return {*own, "r1", "r2", "vol-77", "secret-77", "vision", "huge", "guard", "shop"}


def dumped(folder: Path, *objects: Manifest) -> Path:
    path = folder / "lists.json"
    whole = {"apiVersion": "v1", "kind": "List", "items": [*SHOP, *objects]}
    path.write_text(json.dumps(whole))
    return path


def test_nothing_of_the_old_words_is_left_if_nobody_is_to_know(tmp_path: Path) -> None:
    """Such a file is attached to a public issue."""
    folder = tmp_path / "neutral"
    queue = thing("Queue", "money", spec={"owner": "acme payments", "weight": 3})
    captured = capture(read_lists([dumped(tmp_path, queue)], ["Queue"]))

    scenario = write(make_neutral(captured), folder)

    text = "".join(one.read_text("utf-8") for one in folder.iterdir())
    written = set(re.findall(r"[\w./:-]+", text))
    assert {*words_of(SHOP), "money"} & written == set()
    assert "acme" not in text
    assert "weight: 3" in text
    assert len(scenario.workload) == 3
    # A selector still selects.
    budget = next(o for o in scenario.objects.values() if "Budget" in o.kind)
    selected = budget.manifest["spec"]["selector"]["matchLabels"]
    assert selected in [one.labels for one in scenario.workload]


def test_equal_deployments_are_one_with_several_controllers(tmp_path: Path) -> None:
    """Forty tenants with the same service are read as one line."""
    pods = [one for tenant in range(3) for one in replicas(f"tenant-{tenant}", ["ip-1", ""], template_hash="aa")]
    for one in pods:
        one["metadata"]["labels"]["app"] = "tenant"

    scenario = write(capture(found(SHOP[0], *pods)), tmp_path / "tenants")

    (workload,) = scenario.workload
    assert (workload.controllers, workload.replicas) == (3, 2)
    assert scenario.expect.end.pending == {workload.name: 3}


def test_the_command_says_what_it_wrote(tmp_path: Path) -> None:
    """And what to do with it."""
    lists, out = dumped(tmp_path), tmp_path / "made"
    arguments = ["scenario", "from-cluster", "--file", str(lists), "--out", str(out), "--no-check"]

    answer = CliRunner().invoke(app, arguments)

    said = "4 pods of 3 workloads on 3 nodes of 3 kinds, 1 without a node"
    assert (answer.exit_code, said in answer.output) == (0, True), answer.output
    assert f"stowage run {out / 'cluster.yaml'}" in answer.output
    assert yaml.safe_load((out / "cluster.yaml").read_text())["name"] == "made/cluster"


def test_a_taint_of_a_condition_stays_on_a_node_whose_conditions_are_good() -> None:
    """The node controller takes it off a fake node; who tolerates it tolerates what is in its place."""
    taint = {"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"}
    tolerates: dict[str, Any] = {"tolerations": [{"key": taint["key"], "operator": "Exists"}]}
    pods = [pod("a", **tolerates), pod("b"), pod("d", "n", owner=("DaemonSet", "d"))]

    captured = capture(found(node("n", taints=[taint]), *pods))

    key = "stowage.dev/memory-pressure"
    assert [one.key for one in captured.pools[0].taints] == [key]
    tolerating = {one.name for one in captured.workloads if key in [t["key"] for t in one.spec.get("tolerations", ())]}
    assert tolerating == {"a", "d"}


def test_kinds_of_other_groups_are_left_out_and_named() -> None:
    """Only the group tells Volcano's PodGroup from Kubernetes'."""
    foreign = {**thing("PodGroup", "g"), "apiVersion": "scheduling.volcano.sh/v1beta1"}
    longhorn = {**thing("Node", "ip-1"), "apiVersion": "longhorn.io/v1beta2"}
    captured = shop(foreign, longhorn)
    assert "PodGroup" not in [one["kind"] for one in captured.objects]
    assert len(captured.nodes) == 3
    (names,) = captured.notes.values()
    assert "PodGroup.scheduling.volcano.sh" in names


def test_what_is_no_list_of_a_cluster_is_refused(tmp_path: Path) -> None:
    """The message says how to make one."""
    path = tmp_path / "lists.json"
    path.write_text('{"kind": "PodList", "items": []}')

    with pytest.raises(InputError, match="there is no Node in what was read"):
        read_lists([path])
