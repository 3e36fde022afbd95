"""What a file without steps becomes, and which files are meant."""

from pathlib import Path

import pytest
from amounts import size, taken

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.node_pool import NodePool, Taint
from stowage_testbed.scenario.catalogue import find_shipped_folder, select
from stowage_testbed.scenario.errors import ScenarioIssuesError
from stowage_testbed.scenario.expectations import Expectations
from stowage_testbed.scenario.expected_moment import Bounds, ExpectedMoment
from stowage_testbed.scenario.load import find_files, load_file, load_folder
from stowage_testbed.scenario.manifests import make_pod_spec
from stowage_testbed.scenario.model import (
    QUIET_S,
    InstanceSpec,
    OptimizerSettings,
    Scenario,
)
from stowage_testbed.scenario.starter import write_starter
from stowage_testbed.scenario.steps.action import Action
from stowage_testbed.scenario.steps.applying import Apply, ApplyInTurn
from stowage_testbed.scenario.steps.scheduling import Pack, Release
from stowage_testbed.scenario.steps.waiting import Checkpoint, Wait

GOOD = Path(__file__).parent / "good"
FULL = (GOOD / "full.yaml").read_text("utf-8")


def load(tmp_path: Path, text: str = FULL) -> tuple[Scenario, ...]:
    """Load a file that must be called good/full."""
    path = tmp_path / "good" / "full.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    return load_file(path)


def test_every_key_reaches_the_model(tmp_path: Path) -> None:
    """A key that is accepted and then forgotten would be worse than an error."""
    scenario, _ = load(tmp_path)
    (pool,), (web, db) = scenario.nodes, scenario.workload

    taints, room = (Taint("gpu", "NoSchedule"),), size(4000, 4 * 10**9, 50)
    assert pool == NodePool("big", 2, room, {"disk": "ssd"}, taints, ("a", "b"))
    assert (web.name, web.replicas, web.requests["cpu"]) == ("web", 2, 500)
    assert web.priority == 5
    assert (db.kind, db.takes) == ("Deployment", taken(1100, 2**30))
    assert (scenario.labels, scenario.pod_count) == (("smoke",), 3)
    assert scenario.optimizer == OptimizerSettings("manual", 2.0, 0.0, "paper")


def test_every_expectation_reaches_the_model(tmp_path: Path) -> None:
    """An expectation that is dropped is a check that never fails."""
    assert load(tmp_path)[0].expect == Expectations(
        tolerance=0.01,
        deterministic=ExpectedMoment(
            placements={"web": ("big-0", "big-1")},
            groups=(("db", "web"), ("web",)),
            placed_by_priority={5: Bounds(2, 2), 0: Bounds(None, 1)},
        ),
        optimizer=ExpectedMoment(
            optimal=False,
            moves=Bounds(1, None),
            utilisation_delta={"cpu": -0.5},
        ),
    )


def test_a_variant_is_a_scenario_with_other_parameters(tmp_path: Path) -> None:
    """Sizes and orders are variants of one file, not copies of it."""
    default, other = load(tmp_path)

    assert (default.scenario_id, default.labels) == ("good/full", ("smoke",))
    assert [(w.name, w.replicas) for w in default.workload] == [("web", 2), ("db", 1)]
    assert default.parameters == {"pods": 2, "names": ["web", "db"], "stem": "we"}
    assert (other.scenario_id, other.labels) == ("good/full@other", ("slow",))
    assert [(w.name, w.replicas) for w in other.workload] == [("db", 1), ("web", 4)]
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


SIDECAR = """pod: {initContainers: [{name: p, image: p, restartPolicy: Always, \
resources: {requests: {cpu: 100m, nvidia.com/gpu: 1}}}]}"""


def test_a_sidecar_counts_once_beside_the_workloads_own_requests(
    tmp_path: Path,
) -> None:
    """A pod takes what both ask for, and its own container asks for its part alone."""
    text = FULL.replace("priority: 5}", f"priority: 5, {SIDECAR}}}")
    text = text.replace("pods: 50\n", "pods: 50\n    resources: {nvidia.com/gpu: 2}\n")

    web = load(tmp_path, text)[0].workload[0]

    assert web.takes == taken(600, 10**9, {"nvidia.com/gpu": 1})
    (container,) = make_pod_spec(web)["containers"]
    assert container["resources"]["requests"] == {"cpu": "500m", "memory": "1000000000"}


INSTANCE = """\
name: good/full
description: Generated.
instance: {seed: 7, nodes: 4, pods_per_node: 4, priorities: 2, usage: 0.95}
expect:
  deterministic: {placements: {rs-01-p1: [node-0]}}
  optimizer: {}
"""


def test_an_instance_brings_nodes_and_workload(tmp_path: Path) -> None:
    """Expectations can name its nodes and ReplicaSets like written ones."""
    (scenario,) = load(tmp_path, INSTANCE)

    assert scenario.instance == InstanceSpec(7, 4, 4, 2, 0.95)
    assert (scenario.nodes[0].count, scenario.pod_count) == (4, 16)


def test_a_pod_that_fits_nowhere_can_be_allowed(tmp_path: Path) -> None:
    """Some scenarios are about just that."""
    text = FULL.replace("memory: 1G, priority", "memory: 9G, priority")
    allowed = text.replace("expect:\n", "expect:\n  allow_unplaceable: true\n")

    assert load(tmp_path, allowed)[0].expect.allow_unplaceable
    with pytest.raises(ScenarioIssuesError, match="larger than any node"):
        load(tmp_path, text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two scenario files, three scenarios."""
    load(tmp_path)
    (tmp_path / "zoo").mkdir()
    text = FULL.partition("variants:")[0].replace("good/full", "zoo/small")
    (tmp_path / "zoo" / "small.yaml").write_text(text, "utf-8")
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


def test_a_name_means_the_users_own_scenario_or_one_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
