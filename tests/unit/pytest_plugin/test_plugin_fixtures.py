"""What the plugin's mark and fixtures mean: scenario, cluster, manifests, placements."""

from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from seen_states import Seen, fresh, leaving, placed, plan, refused, state_of
from watch_server import a_pod

from stowage_testbed.api.manifests import Given, read_manifests
from stowage_testbed.api.pod_templates import PodOverrides
from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.condition import ConditionResult
from stowage_testbed.pytest.applying import with_overrides_for
from stowage_testbed.pytest.placing import all_decided
from stowage_testbed.pytest.scenarios import marked_scenario
from stowage_testbed.pytest.session_cluster import session_cluster
from stowage_testbed.scenario.load import find_shipped_folder
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.schema import write_starter


def meant(tmp_path: Path, scenario: str = "", *words: str, **options: Any) -> Scenario:
    mark = pytest.mark.stowage(*words, scenario=scenario, **options).mark
    return marked_scenario(mark, "test_it", tmp_path / "tests", tmp_path)


def test_files_lie_beside_tests_and_names_are_ours_or_its_own(tmp_path: Path) -> None:
    """A test moves with what it needs; names are as on the command line."""
    beside = write_starter("tests/web", tmp_path)
    own = write_starter("web/scale-up", tmp_path / "scenarios")
    shipped = find_shipped_folder() / "paper" / "figure-1.yaml"
    assert meant(tmp_path, "web.yaml").path == beside
    assert meant(tmp_path, "web/scale-up").path == own
    assert meant(tmp_path, "paper/figure-1").path == shipped
    # A mark stands for one run, the plain one unless it names a variant.
    assert meant(tmp_path, "paper/priorities").variant is None
    assert meant(tmp_path, "paper/priorities@mixed").variant == "mixed"
    assert meant(tmp_path, "paper/priorities", variant="mixed").variant == "mixed"


@pytest.mark.parametrize(
    ("words", "options", "issue"),
    [
        ((), {"variant": "x"}, "names no scenario"),
        (("paper/figure-1",), {"variants": "x"}, "unknown argument variants"),
        (("paper/priorities",), {"variant": "x"}, "no variant 'x', there are default"),
        (("paper/*",), {}, "several scenarios"),
        (("nothing.yaml",), {}, "folder of what names them"),
        (("paper/figure-11",), {}, "paper/figure-1"),
    ],
)
def test_a_mark_that_names_no_one_run_is_explained(
    words: tuple[str, ...], options: dict[str, Any], issue: str, tmp_path: Path
) -> None:
    """It says what to write in its place, or names that are close."""
    with pytest.raises(StowageError, match=issue):
        meant(tmp_path, *words, **options)


pytest_plugins = ["pytester"]


def enter_session(pytester: pytest.Pytester, *options: str, worker: str = "") -> None:
    config = pytester.parseconfig(*options)
    if worker:
        config.workerinput = {"workerid": worker, "workercount": 2}  # type: ignore[attr-defined] # xdist sets it
    session_cluster(config).__enter__()


def test_workers_do_not_share_a_cluster(pytester: pytest.Pytester) -> None:
    """Two workers on one cluster would sweep each other's pods."""
    with pytest.raises(StowageError, match="--stowage-reuse"):
        enter_session(pytester, "--stowage-cluster", "mine", worker="gw1")


@pytest.mark.parametrize(("worker", "name"), [("", "pytest"), ("gw1", "pytest-gw1")])
def test_a_cluster_in_use_is_left_to_its_session(
    worker: str, name: str, pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second pytest in another window must not sweep under the first; workers have clusters of their own."""
    monkeypatch.setenv("STOWAGE_CACHE", str(tmp_path))
    monkeypatch.delenv("STOWAGE_CLUSTERS", raising=False)
    layout.clusters_folder().mkdir()
    with (
        FileLock(layout.clusters_folder() / f".{name}.session"),
        pytest.raises(StowageError, match="leave --stowage-reuse out"),
    ):
        enter_session(pytester, "--stowage-reuse", worker=worker)


def test_a_missing_cluster_is_one_line_of_an_error(pytester: pytest.Pytester) -> None:
    """Whoever mistypes a name reads one line."""
    pytester.makepyfile("def test_it(stowage_nodes): pass\n")
    result = pytester.runpytest_inprocess("--stowage-cluster", "nobodys")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*nobodys*"])
    assert "Traceback" not in result.stdout.str()
    assert "listing.py" not in result.stdout.str()


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: one}\nspec: {containers: []}\n"
MINE = PodOverrides("mine", {"queue": "a"})


def names(given: Given, folder: Path) -> list[str]:
    return [one["metadata"]["name"] for one in read_manifests(given, folder)]


def an_object(kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}


def test_text_files_folders_and_objects_are_taken_alike(tmp_path: Path) -> None:
    """A test says it in the way that it reads best."""
    (tmp_path / "pod.yaml").write_text(POD)
    many = tmp_path / "many"
    many.mkdir()
    (many / "b.yml").write_text(POD.replace("one", "b"))
    (many / "a.yaml").write_text(POD.replace("one", "a"))
    (many / "README.md").write_text("no manifest")
    # `kubectl get -o yaml` gives a list, Helm several documents.
    text = f"{POD}---\n---\napiVersion: v1\nkind: List\nitems:\n" + (
        "- {apiVersion: v1, kind: Pod, metadata: {name: two}}\n"
    )

    given: list[Given] = ["pod.yaml", Path("many"), POD, an_object("Pod", "plain")]

    assert names(given, tmp_path) == ["one", "a", "b", "one", "plain"]
    assert names(text, tmp_path) == ["one", "two"]
    # What others need comes first, whatever order a chart's output has.
    kinds = ("Pod", "PriorityClass", "ConfigMap", "Namespace")
    mixed = [an_object(kind, kind.lower()) for kind in kinds]
    assert names(mixed, tmp_path) == ["namespace", "priorityclass", "configmap", "pod"]


@pytest.mark.parametrize(
    ("text", "issue"),
    [
        ("kind: Pod\nmetadata: {name: one}\n", "apiVersion missing"),
        (f"{POD}---\napiVersion: v1\nkind: Pod\n", "the text:6: Pod without"),
        ("just words\n", "'just words' is no object"),
        ("a: [\n", "not YAML"),
        # The question is always where it was looked for.
        ("nothing.yaml", "FOLDER/nothing.yaml"),
    ],
)
def test_what_is_no_manifest_is_located(text: str, issue: str, tmp_path: Path) -> None:
    """The server's own answer to these says little."""
    with pytest.raises(StowageError, match=issue.replace("FOLDER", str(tmp_path))):
        read_manifests(text, tmp_path)


def test_pods_of_controllers_get_the_arms_overrides() -> None:
    """The same manifests serve under every scheduler; a pod that names one keeps it."""
    template: dict[str, Any] = {"metadata": {}, "spec": {"containers": []}}
    web = an_object("Deployment", "web") | {"spec": {"template": template}}

    changed = with_overrides_for(web, MINE)["spec"]["template"]

    assert changed["spec"]["schedulerName"] == "mine"
    assert changed["metadata"]["labels"] == {"queue": "a"}
    named = an_object("Pod", "one") | {"spec": {"schedulerName": "other"}}
    without_pods = an_object("ConfigMap", "settings")
    for kept in (named, without_pods):
        assert with_overrides_for(kept, MINE) == kept


NAMESPACE = str(a_pod("any")["metadata"]["namespace"])


def look(*objects: Seen, optimizes: bool = False, **least: int) -> ConditionResult:
    return all_decided(NAMESPACE, optimizes=optimizes, **least)(state_of(*objects))


def owned(pod: Seen, kind: str, owner: str) -> Seen:
    reference = {"kind": kind, "name": owner, "uid": f"uid-{owner}", "controller": True}
    pod[1]["metadata"]["ownerReferences"] = [reference]
    return pod


def a_controller(kind: str, name: str, spec: dict[str, Any], **status: int) -> Seen:
    """Return a controller whose present form has been seen by Kubernetes."""
    named = {"uid": f"uid-{name}", "name": name, "namespace": NAMESPACE}
    metadata = {**named, "generation": 2}
    seen = {"observedGeneration": 2, **status}
    return kind, {"metadata": metadata, "spec": spec, "status": seen}


@pytest.mark.parametrize("pod", [fresh("b"), leaving("b")])
def test_a_pod_on_its_way_is_waited_for_and_named(pod: Seen) -> None:
    """A node and none are both answers; the time-out must say who had neither."""
    answer = look(placed("a"), pod)
    assert not answer.holds
    assert f"{NAMESPACE}/b" in answer.state
    assert look(placed("a"), refused("b")).holds


def test_a_controller_that_lacks_pods_is_waited_for() -> None:
    """Right after `apply` a Deployment has no pod, and none is undecided."""
    wanting = a_controller("ReplicaSet", "web", {"replicas": 2})
    pod = owned(placed("a"), "ReplicaSet", "web")

    answer = look(wanting, pod)
    first = look(a_controller("Deployment", "web", {"replicas": 2}))

    assert not answer.holds
    assert "ReplicaSet web has 1 of 2 pods" in answer.state
    assert look(wanting, pod, owned(refused("b"), "ReplicaSet", "web")).holds
    assert not first.holds
    assert "Deployment web has 0 of 2 pods" in first.state


NONE = {"replicas": 0}
STATEFUL_SET = a_controller("StatefulSet", "db", {"replicas": 3})
JOB = a_controller("Job", "once", {"parallelism": 5, "completions": 1})
DAEMON_SET = a_controller("DaemonSet", "log", {}, desiredNumberScheduled=1)


@pytest.mark.parametrize(
    ("objects", "holds"),
    [
        # Its ReplicaSets are those of before.
        ([a_controller("Deployment", "web", NONE, observedGeneration=1)], False),
        ([a_controller("Deployment", "web", NONE)], True),
        # Its second pod does not come before the first is ready.
        ([STATEFUL_SET, owned(refused("db-0"), "StatefulSet", "db")], True),
        ([STATEFUL_SET, owned(placed("db-0"), "StatefulSet", "db")], False),
        # Its completions come later; a suspended one has none.
        ([JOB], False),
        ([JOB, owned(placed("a"), "Job", "once")], True),
        ([a_controller("Job", "later", {"suspend": True})], True),
        # Only its controller knows which nodes it is for.
        ([DAEMON_SET], False),
        ([DAEMON_SET, owned(placed("a"), "DaemonSet", "log")], True),
    ],
)
def test_a_controller_ends_in_its_own_way(objects: list[Seen], holds: bool) -> None:
    """Each kind has its own way to say so."""
    assert look(*objects).holds is holds
    # Unknown controllers are slow, and room may have come a moment ago.
    assert not look(placed("a"), pods=2).holds
    assert not look(refused("a"), placed=1).holds
    assert look(placed("a"), refused("b"), pods=2, placed=1).holds


def test_an_optimiser_has_the_last_word_on_pods_without_a_node() -> None:
    """Refused is where its work begins; of a failed plan nothing comes."""
    pods = (placed("a"), refused("b"))
    assert not look(*pods, optimizes=True).holds
    assert not look(*pods, plan("p", "Executing"), optimizes=True).holds
    assert look(*pods, plan("p", "NoImprovement"), optimizes=True).holds
    assert look(placed("a"), optimizes=True).holds
    assert "so it is" in look(refused("a"), plan("p", "Failed"), optimizes=True).error
