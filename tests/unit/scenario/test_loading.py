"""What a file becomes, and which files are meant."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from amounts import asked, size
from typer.testing import CliRunner

from stowage_testbed.api.kinds import Kind
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli import app
from stowage_testbed.cluster.feature_gates import make_gates
from stowage_testbed.cluster.node_pool import NodePool, annotate_fake
from stowage_testbed.scenario.check import find_differences
from stowage_testbed.scenario.load import find_files, find_shipped_folder, load_file, load_folder, select
from stowage_testbed.scenario.manifests import make_controllers, make_groups, make_priority_classes
from stowage_testbed.scenario.model import Gang, Scenario, Workload
from stowage_testbed.scenario.reading import read
from stowage_testbed.scenario.schema import write_starter
from stowage_testbed.scenario.simulation import make_pods
from stowage_testbed.scenario.steps.action import Demand
from stowage_testbed.scenario.steps.applying import Apply
from stowage_testbed.scenario.yaml_file import Document, ScenarioIssuesError

GOOD = Path(__file__).parent / "good"
FILES = sorted(GOOD.glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_all_that_a_file_says_is_explained(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is accepted and then forgotten would be worse than an error."""
    monkeypatch.chdir(GOOD.parent)
    explained = CliRunner().invoke(app, ["scenario", "explain", f"good/{file.name}"])

    assert explained.output == file.with_suffix(".txt").read_text("utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two scenario files, three scenarios."""
    text = (GOOD / "full.yaml").read_text("utf-8")
    alone = text.partition("variants:")[0].replace("good/full", "zoo/small")
    for name, content in (("good/full", text), ("zoo/small", alone)):
        path = tmp_path / f"{name}.yaml"
        path.parent.mkdir()
        path.write_text(content, "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("asked", "labels", "found"),
    [
        ([], (), ["good/full", "good/full@other", "zoo/small"]),
        (["good/full"], (), ["good/full", "good/full@other"]),
        (["good/full@other"], (), ["good/full@other"]),
        (["zoo/*", "good/full"], (), ["zoo/small", "good/full", "good/full@other"]),
        (["{folder}/zoo/small.yaml", "zoo/small"], (), ["zoo/small"]),
        (["{folder}/zoo"], (), ["zoo/small"]),
        # `smoke` is the part of the set that every change must pass.
        ([], ["slow"], ["good/full@other"]),
    ],
)
def test_scenarios_are_found_by_name_pattern_file_folder_and_label(
    asked: list[str], labels: list[str], found: list[str], folder: Path
) -> None:
    """The command line takes whatever its user has at hand."""
    asked = [word.format(folder=folder) for word in asked]
    chosen = select(asked, folder=folder, labels=labels)

    assert [scenario.scenario_id for scenario in chosen] == found


def test_issues_of_all_files_are_reported_at_once(folder: Path) -> None:
    """One look at a folder shows everything that must be fixed."""
    for path in folder.rglob("*.yaml"):
        path.write_text(path.read_text().replace("count: 2", "count: 0"))

    with pytest.raises(ScenarioIssuesError) as caught:
        load_folder(folder)

    names = [issue.path.name for issue in caught.value.issues]
    assert names == ["full.yaml", "small.yaml"]


def test_a_name_means_the_users_own_scenario_or_one_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who copies a scenario wants the changed one, and keeps the others."""
    monkeypatch.chdir(tmp_path)
    own, ours = Path("scenarios"), find_shipped_folder()

    def meant(*names: str) -> set[Path | None]:
        return {one.path for one in select(names, folder=own)}

    # `stowage run` must do something sensible right after `pip install`.
    assert meant() == set(find_files(ours))
    mine = write_starter("paper/figure-2", own)
    assert meant() == {mine}
    assert meant("paper/figure-1") == {ours / "paper" / "figure-1.yaml"}
    # A mistyped name must not run nothing and pass.
    with pytest.raises(StowageError, match=r"did you mean.*figure-2.*figure-1"):
        meant("paper/figure-3")
    changed = write_starter("paper/figure-1", own)
    assert meant("paper/figure-1") == {changed}


NODES = (NodePool("node", 2, size(4000, 4 * 10**9)),)
CASES: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("manifests.yaml").read_text("utf-8"))


def dig(found: Any, *path: str) -> Any:
    for key in path:
        found = found[int(key)] if isinstance(found, list) else found.get(key, {})
    return found


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_workload_becomes_controllers_and_pods(case: dict[str, Any]) -> None:
    """What the API demands of one kind it refuses of another."""
    workload = read(Workload, document := Document(Path(), case["workload"]), "it")
    assert workload, document.issues
    found = make_controllers(workload, "ns")

    assert list(find_differences({"all": case["made"]}, {"all": found})) == []
    for path in case.get("lacks", ()):
        assert not dig(found[0], *path.split("."))


def test_a_gang_becomes_a_group_for_each_controller_of_the_priority_of_its_pods() -> None:
    """A group of another priority than its pods is never tried, nor are pods without their group."""
    several = Workload("train", 3, controllers=2, priority=5, gang=Gang(2, "all"))
    bare = Workload("alone", 2, kind="Pod", gang=Gang(2))

    groups = make_groups(several, "ns")
    (of_bare,) = make_groups(bare, "ns")

    assert [one["metadata"]["name"] for one in groups] == ["train-0", "train-1"]
    assert groups[0]["spec"] == {
        "schedulingPolicy": {"gang": {"minCount": 2}},
        "disruptionMode": {"all": {}},
        "priorityClassName": "stowage-5",
    }
    assert of_bare["metadata"]["name"] == "alone"
    assert {one["spec"]["schedulingGroup"]["podGroupName"] for one in make_controllers(bare, "ns")} == {"alone"}
    assert make_groups(replace(bare, gang=None), "ns") == []


def test_a_scenario_with_a_gang_runs_where_there_are_pod_groups() -> None:
    """Without the gate, the server would drop what makes the pods a gang."""
    folder = find_shipped_folder()
    gang, plain = (load_file(folder / f"{name}.yaml")[0] for name in ("gangs/starve", "paper/figure-1"))

    assert gang.features == make_gates({"GenericWorkload": True}, ["scheduling.k8s.io/v1beta1"])
    assert not plain.features


def test_priorities_become_classes_and_the_simulator_gets_them_as_numbers() -> None:
    """Zero is the cluster's default; the simulator has no admission, no controllers."""
    workload = tuple(
        Workload(name, replicas, requests=asked(100, 0), priority=priority)
        for name, replicas, priority in (("b", 2, 5), ("a", 1, 0), ("c", 1, -3))
    )
    scenario = Scenario("a/b", "a test", nodes=NODES, workload=workload)
    classes = make_priority_classes(scenario)
    pods, nodes = make_pods(scenario, "ns"), scenario.first_nodes

    assert [(one["metadata"]["name"], one["value"]) for one in classes] == [
        ("stowage-minus-3", -3), ("stowage-5", 5),
    ]  # fmt: skip
    assert [(one["metadata"]["name"], one["spec"]["priority"]) for one in pods] == [
        ("b-0", 5), ("b-1", 5), ("a-0", 0), ("c-0", -3),
    ]  # fmt: skip
    assert [node["metadata"]["name"] for node in nodes] == ["node-0", "node-1"]


SCENARIO = (GOOD / "objects.yaml").read_text("utf-8")
COUNTED = yaml.safe_load(GOOD.with_name("counted.yaml").read_text("utf-8"))
SHOP = (GOOD / "manifests" / "shop.yaml").read_text("utf-8")


def loaded(folder: Path, shop: str = SHOP, *, file: str = "shop.yaml") -> Scenario:
    """Load the scenario beside its file of manifests."""
    path = folder / "good" / "objects.yaml"
    (path.parent / "manifests").mkdir(parents=True)
    (path.parent / "manifests" / "shop.yaml").write_text(shop, "utf-8")
    path.write_text(SCENARIO.replace("shop.yaml", file), "utf-8")
    return load_file(path)[0]


@pytest.mark.parametrize(("manifest", "pods"), COUNTED)
def test_the_pods_of_an_object_count_where_the_scenario_looks(
    tmp_path: Path, manifest: dict[str, Any], pods: int
) -> None:
    """Steps would wait for ever for those of another namespace."""
    named = {**manifest, "metadata": {"name": "a"}}
    elsewhere = {**manifest, "metadata": {"name": "b", "namespace": "c"}}
    shop = yaml.safe_dump_all([*yaml.safe_load_all(SHOP), named, elsewhere])
    scenario = loaded(tmp_path, shop)

    assert [scenario.objects[name].pods for name in "ab"] == [pods, 0]
    # Files of manifests are no scenarios.
    assert load_folder(tmp_path) == (scenario,)


@pytest.mark.parametrize(
    ("shop", "file", "issue"),
    [
        ("kind: Service\n", "shop.yaml", "shop.yaml:1: apiVersion missing"),
        ("a: [", "shop.yaml", "shop.yaml: not YAML"),
        (SHOP + "---\n" + SHOP, "shop.yaml", "service-web cannot be told from another"),
        ("apiVersion: v1\nkind: Pod\n", "shop.yaml", "Pod without metadata.name"),
        (SHOP, "shops.yaml", r"there is no file .*shops\.yaml"),
    ],
)
def test_a_file_that_cannot_be_applied_is_told_when_the_scenario_is_read(
    tmp_path: Path, shop: str, file: str, issue: str
) -> None:
    """Before a cluster is brought up, with file and line."""
    with pytest.raises(ScenarioIssuesError, match=issue) as caught:
        loaded(tmp_path, shop, file=file)

    assert ":20:12:" in str(caught.value)


def test_a_second_manifest_of_an_object_changes_it(tmp_path: Path) -> None:
    """Its pods are not more, and waits go on naming them as before."""
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop"}, "spec": {"replicas": 3}}
    first, second = (yaml.safe_dump({**web, "spec": {"replicas": replicas, "paused": True}}) for replicas in (3, 2))
    folder = tmp_path / "good"
    folder.mkdir()
    (folder / "first.yaml").write_text(first)
    (folder / "second.yaml").write_text(second)
    text = (
        "version: 1\nname: good/rollout\ndescription: d\nnodes: [{count: 1, cpu: 4, memory: 4G}]\n"
        "steps: [{apply: first.yaml}, {apply: second.yaml}, {wait: {for: bound, of: shop}}]\n"
        "expect: {end: {placed: 3}}\n"
    )
    (folder / "rollout.yaml").write_text(text)
    (scenario,) = load_file(folder / "rollout.yaml")
    applied = [step.action for step in scenario.steps if isinstance(step.action, Apply)]
    demand = Demand(scenario.pods_by_name)

    assert [one.names for one in applied] == [("shop",), ("shop",)]
    assert applied[1].changes["shop"].manifest["spec"]["replicas"] == 2
    for one, pods in zip(applied, (3, 2), strict=True):
        one.ask(demand)
        assert demand == {"shop": pods}


def test_a_generated_name_is_numbered_across_the_files_of_a_step(tmp_path: Path) -> None:
    """The server would name each of them anew; none may take the place of another."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "pod-"}, "spec": {"containers": []}}
    folder = tmp_path / "names"
    folder.mkdir()
    for name in ("first", "second"):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(pod))
    text = (
        "version: 1\nname: names/generated\ndescription: d\nnodes: [{count: 1, cpu: 4, memory: 4G}]\n"
        "steps: [{apply: [first.yaml, second.yaml]}, {apply: first.yaml}, {wait: {for: bound, of: pod-3}}]\n"
        "expect: {end: {placed: 3}}\n"
    )
    (folder / "generated.yaml").write_text(text)

    (scenario,) = load_file(folder / "generated.yaml")

    assert [*scenario.objects] == ["pod", "pod-2", "pod-3"]


NODE_OBJECT = """\
version: 1
name: test/node-object
description: A node among the objects.
nodes:
- {count: 1, cpu: 1, memory: 1G}
workload:
- {name: agent, kind: DaemonSet, cpu: 100m}
- {name: large, kind: Deployment, replicas: 1, cpu: 3, requests: {example.com/gpu: 1}}
objects:
  big:
    apiVersion: v1
    kind: Node
    metadata: {name: big-node, annotations: {team: a}}
    status: {capacity: {cpu: 4, memory: 8G, pods: 110, example.com/gpu: 2}}
  other: {apiVersion: example.com/v1, kind: Node, metadata: {name: no-node}}
steps:
- apply: [big, other, agent, large]
- wait: {for: bound}
- cordon: [big-node]
expect:
  end: {placed: 3, utilisation: {example.com/gpu: 0.5}}
"""


def test_a_node_among_the_objects_counts_as_a_node_and_runs(tmp_path: Path) -> None:
    """KWOK plays the nodes that have its annotation, and pods fit on them as on others."""
    path = tmp_path / "test" / "node-object.yaml"
    path.parent.mkdir()
    path.write_text(NODE_OBJECT, "utf-8")
    scenario = load_file(path)[0]
    kind = Kind("v1", "Node", "nodes", namespaced=False, verbs=frozenset(), preferred=True)
    made = scenario.objects["big"].in_namespace(kind, "ns")

    assert scenario.node_names == ("node-0", "big-node")
    assert scenario.pods_by_name["agent"] == len(scenario.node_names)
    assert made["metadata"]["annotations"] == {**annotate_fake("big-node"), "team": "a"}
