from pathlib import Path

import pytest
from amounts import size, taken

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.node_pool import Taint
from stowage_testbed.scenario.catalogue import select
from stowage_testbed.scenario.errors import ScenarioIssuesError
from stowage_testbed.scenario.expected_moment import Bounds
from stowage_testbed.scenario.load import load_file, load_folder
from stowage_testbed.scenario.manifests import make_pod_spec
from stowage_testbed.scenario.model import (
    QUIET_S,
    InstanceSpec,
    OptimizerSettings,
    Scenario,
)
from stowage_testbed.scenario.steps.action import Action
from stowage_testbed.scenario.steps.applying import Apply, ApplyInTurn
from stowage_testbed.scenario.steps.scheduling import Pack, Release
from stowage_testbed.scenario.steps.waiting import Checkpoint, Wait

FULL = """\
name: test/full
description: Every key once.
source: a test
labels: [smoke]
parameters:
  pods: {type: integer, default: 2}
  names: {type: list, default: [web, db]}
  stem: {type: text, default: we}
nodes:
  - prefix: big
    count: 2
    cpu: "4"
    memory: 4G
    pods: 50
    labels: {disk: ssd}
    taints: [{key: gpu, effect: NoSchedule}]
    zones: [a, b]
workload:
  - {name: "${stem}b", replicas: "${pods}", cpu: 0.5, memory: 1G, priority: 5}
  - name: db
    kind: Deployment
    replicas: 1
    pod:
      containers:
        - {name: a, image: x, resources: {requests: {cpu: 100m, memory: 1Gi}}}
        - {name: b, image: x, resources: {requests: {cpu: 1}}}
order: ${names}
arrival: burst
optimizer: {trigger: manual, time_limit_s: 2, settle_s: 0, policy: paper}
expect:
  tolerance: 0.01
  deterministic:
    placements: {web: [big-1, big-0]}
    groups: [[web, db], [web]]
    placed_by_priority: {5: 2, 0: {max: 1}}
  optimizer: {optimal: false, moves: {min: 1}, utilisation_delta: {cpu: -0.5}}
variants:
  other:
    labels: [slow]
    set: {pods: 4, names: [db, web]}
"""


def load(tmp_path: Path, text: str) -> tuple[Scenario, ...]:
    """Load a file that must be called test/full."""
    path = tmp_path / "test" / "full.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    return load_file(path)


def test_every_key_reaches_the_model(tmp_path: Path) -> None:
    """A key that is accepted and then forgotten would be worse than an error."""
    scenario, _ = load(tmp_path, FULL)

    (pool,) = scenario.nodes
    assert pool.node_names() == ["big-0", "big-1"]
    assert pool.resources == size(4000, 4 * 10**9, 50)
    assert (pool.labels, pool.zones) == ({"disk": "ssd"}, ("a", "b"))
    assert pool.taints == (Taint("gpu", "NoSchedule"),)
    web, db = scenario.workload
    assert (web.name, web.replicas, web.requests["cpu"]) == ("web", 2, 500)
    assert web.priority == 5
    assert (db.kind, db.takes) == ("Deployment", taken(1100, 2**30))
    assert scenario.labels == ("smoke",)
    assert scenario.optimizer == OptimizerSettings("manual", 2.0, 0.0, "paper")
    assert scenario.pod_count == 3


def test_every_expectation_reaches_the_model(tmp_path: Path) -> None:
    """An expectation that is dropped is a check that never fails."""
    expect = load(tmp_path, FULL)[0].expect

    before, after = expect.deterministic, expect.optimizer
    assert before.placements == {"web": ("big-0", "big-1")}
    assert before.groups == (("db", "web"), ("web",))
    assert before.placed_by_priority == {5: Bounds(2, 2), 0: Bounds(None, 1)}
    assert (after.optimal, after.moves) == (False, Bounds(1, None))
    assert after.utilisation_delta == {"cpu": -0.5}
    assert (before.placed, after.pending, after.solves) == (None, None, None)
    assert (expect.tolerance, expect.allow_unplaceable) == (0.01, False)


def test_a_variant_is_a_scenario_with_other_parameters(tmp_path: Path) -> None:
    """Sizes and orders are variants of one file, not copies of it."""
    default, other = load(tmp_path, FULL)

    assert (default.scenario_id, other.scenario_id) == ("test/full", "test/full@other")
    assert [(w.name, w.replicas) for w in default.workload] == [("web", 2), ("db", 1)]
    assert [(w.name, w.replicas) for w in other.workload] == [("db", 1), ("web", 4)]
    assert other.labels == ("slow",)
    assert default.parameters == {"pods": 2, "names": ["web", "db"], "stem": "we"}
    assert other.parameters == {"pods": 4, "names": ["db", "web"], "stem": "we"}


@pytest.mark.parametrize(
    ("arrival", "placing"),
    [
        ("sequential", ApplyInTurn(("web", "db"))),
        ("burst", Apply(("web", "db"))),
    ],
)
def test_a_file_without_steps_places_and_packs(
    arrival: str, placing: Action, tmp_path: Path
) -> None:
    """Workloads come in their order, no pod may change then, and it gets no worse."""
    text = FULL.replace("arrival: burst", f"arrival: {arrival}")
    scenario = load(tmp_path, text)[0]

    assert [step.action for step in scenario.steps] == [
        Release("deterministic"),
        placing,
        Wait("settled", stable_s=QUIET_S),
        Checkpoint("before", scenario.expect.deterministic),
        Release("optimizer", optimizer=True),
        Pack(),
        Checkpoint("after", scenario.expect.optimizer, since="before"),
    ]


def test_a_sidecar_counts_once_beside_the_workloads_own_requests(
    tmp_path: Path,
) -> None:
    """A pod takes what both ask for, and its own container asks for its part alone."""
    sidecar = (
        "initContainers: [{name: p, image: p, restartPolicy: Always, "
        "resources: {requests: {cpu: 100m, nvidia.com/gpu: 1}}}]"
    )
    text = FULL.replace("priority: 5}", f"priority: 5, pod: {{{sidecar}}}}}")
    text = text.replace("pods: 50\n", "pods: 50\n    resources: {nvidia.com/gpu: 2}\n")

    web = load(tmp_path, text)[0].workload[0]

    assert web.takes == taken(600, 10**9, {"nvidia.com/gpu": 1})
    (container,) = make_pod_spec(web)["containers"]
    assert container["resources"]["requests"] == {"cpu": "500m", "memory": "1000000000"}


def test_an_instance_brings_nodes_and_workload(tmp_path: Path) -> None:
    """Expectations can name its nodes and ReplicaSets like written ones."""
    text = """\
name: test/full
description: Generated.
instance: {seed: 7, nodes: 4, pods_per_node: 4, priorities: 2, usage: 0.95}
expect:
  deterministic: {placements: {rs-01-p1: [node-0]}}
  optimizer: {}
"""
    (scenario,) = load(tmp_path, text)

    assert scenario.instance == InstanceSpec(7, 4, 4, 2, 0.95)
    assert scenario.nodes[0].count == 4
    assert scenario.pod_count == 16


def test_a_pod_that_fits_nowhere_can_be_allowed(tmp_path: Path) -> None:
    """Some scenarios are about just that."""
    text = FULL.replace("memory: 1G, priority", "memory: 9G, priority")
    with pytest.raises(ScenarioIssuesError, match="larger than any node"):
        load(tmp_path, text)

    allowed = text.replace("expect:\n", "expect:\n  allow_unplaceable: true\n")
    assert load(tmp_path, allowed)[0].expect.allow_unplaceable


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two scenario files, three scenarios."""
    load(tmp_path, FULL)
    (tmp_path / "zoo").mkdir()
    text = FULL.partition("variants:")[0].replace("test/full", "zoo/small")
    (tmp_path / "zoo" / "small.yaml").write_text(text, "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ([], ["test/full", "test/full@other", "zoo/small"]),
        (["test/full"], ["test/full", "test/full@other"]),
        (["test/full@other"], ["test/full@other"]),
        (["zoo/*", "test/full"], ["zoo/small", "test/full", "test/full@other"]),
        (["{folder}/zoo/small.yaml", "zoo/small"], ["zoo/small"]),
        (["{folder}/zoo"], ["zoo/small"]),
    ],
)
def test_scenarios_are_found_by_name_pattern_file_and_folder(
    asked: list[str], found: list[str], folder: Path
) -> None:
    """The command line takes whatever its user has at hand."""
    asked = [word.format(folder=folder) for word in asked]
    assert [s.scenario_id for s in select(asked, folder=folder)] == found


def test_labels_narrow_the_choice(folder: Path) -> None:
    """`smoke` is the part of the set that every change must pass."""
    found = select([], folder=folder, labels=["slow"])
    assert [scenario.scenario_id for scenario in found] == ["test/full@other"]


def test_an_unknown_name_brings_the_nearest_one(folder: Path) -> None:
    """A mistyped name must not run nothing and pass."""
    with pytest.raises(StowageError, match="did you mean test/full"):
        select(["test/ful"], folder=folder)


def test_issues_of_all_files_are_reported_at_once(folder: Path) -> None:
    """One look at a folder shows everything that must be fixed."""
    for path in folder.rglob("*.yaml"):
        path.write_text(
            path.read_text("utf-8").replace("count: 2", "count: 0"), "utf-8"
        )

    with pytest.raises(ScenarioIssuesError) as caught:
        load_folder(folder)

    assert [issue.path.name for issue in caught.value.issues] == [
        "full.yaml",
        "small.yaml",
    ]
