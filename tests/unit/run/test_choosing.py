"""What is run, on which cluster, by which worker, and in which order it is told."""

from collections.abc import Callable, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from stowage_testbed.base.errors import InputError
from stowage_testbed.cli.run_session import run_and_show
from stowage_testbed.cli.try_out import try_out
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.kwok_binary import KwokBinaryCluster
from stowage_testbed.pytest.scenario_runs import run_scenarios
from stowage_testbed.pytest.workers import InOrder, TaskQueue
from stowage_testbed.report.bundle import Bundle
from stowage_testbed.run.outcome import read_run
from stowage_testbed.run.request import (
    CLUSTER_BYTES,
    RunRequest,
    choose_features,
    choose_number,
    choose_scenarios,
    find_missing,
    list_tasks,
    make_cluster,
    narrow_to,
)
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.model import Scenario

SCENARIOS = Path(__file__).parents[3] / "scenarios"
STOCK = ("kubernetes/sidecars", "nodes/drained", "nodes/replacement")
PLANNED = ("plans/asked-for", "paper/figure-1", "plans/quota-just-full")


def test_an_unwritable_results_folder_is_found_before_the_run(tmp_path: Path) -> None:
    """Results that cannot be written would be lost after minutes of work."""
    blocker = tmp_path / "file"
    blocker.write_text("in the way")

    with pytest.raises(InputError, match="cannot write results to"):
        run_and_show(RunRequest(()), blocker / "results")
    with pytest.raises(InputError, match="cannot write results to"):
        try_out(results=blocker / "results")


def test_a_run_that_cannot_begin_is_one_error_in_each_form(tmp_path: Path) -> None:
    """An internal error of pytest beside it would send the reader after the wrong cause."""
    junit, bundle = tmp_path / "junit.xml", Bundle(tmp_path, "run-1", {})
    request = RunRequest((load_file(SCENARIOS / "kubernetes" / "sidecars.yaml")[0],), cluster="nobodys")

    outcome = run_scenarios(request, bundle, junit)

    (error,) = ET.parse(junit).getroot().iter("error")  # noqa: S314 - written by the code under test
    assert "no cluster 'nobodys'" in outcome.error
    assert outcome.error in error.attrib["message"]
    assert read_run(bundle.folder).error == outcome.error


def chosen(*asked: str, variant: str | None = None, label: str = "") -> list[str]:
    labels = [label] if label else []
    found = choose_scenarios(asked, folder=SCENARIOS, variant=variant, labels=labels)
    return [scenario.scenario_id for scenario in found]


def test_a_variant_or_a_label_narrows_the_choice() -> None:
    """One variant is what a developer repeats; one file serves CI and the benchmark."""
    # The plain run has no name of its own in the file.
    for variant, suffix in (("mixed", "@mixed"), ("default", "")):
        found = chosen("paper/priorities", variant=variant)
        assert found == [f"paper/priorities{suffix}"]
    smoke = chosen(label="smoke")
    assert "burst/deployment-200@small" in smoke
    assert "burst/deployment-200" not in smoke
    assert chosen("burst/deployment-200", label="short") == ["burst/deployment-200"]
    with pytest.raises(InputError, match="stowage scenario list"):
        chosen(label="no-such-label")
    with pytest.raises(InputError, match="default, highest-first, mixed"):
        chosen("paper/priorities", variant="mixd")


def test_what_is_long_or_needs_another_cluster_runs_only_when_it_is_asked_for() -> None:
    """`stowage run` without a name is what a developer waits for.

    Without metrics-server, which not everybody has built, nothing else would run.
    """
    everything = chosen()

    assert "burst/deployment-200" in everything
    assert "burst/scale-5000" not in chosen("burst/*")
    assert "burst/scale-5000" not in chosen(str(SCENARIOS / "burst"))
    for apart in ("burst/scale-5000", "hpa/recovery"):
        assert apart not in everything
        assert chosen(apart)[0] == apart
        assert chosen(str(SCENARIOS / f"{apart}.yaml"))[0] == apart
    assert "burst/scale-5000" in chosen(label="full")
    assert chosen(label="metrics") == [
        "hpa/recovery", "hpa/recovery@too-few", "hpa/recovery@plenty",
    ]  # fmt: skip


def variants(name: str) -> dict[str | None, Scenario]:
    return {one.variant: one for one in load_file(SCENARIOS / f"{name}.yaml")}


def resolution_s(cluster: Cluster) -> int | None:
    assert isinstance(cluster, KwokBinaryCluster)
    return cluster.resolution_s


def test_a_scenario_s_own_periods_are_the_cluster_s() -> None:
    """They are fixed when it comes up; where none measures nothing is paid for it."""
    recovery = variants("hpa/recovery")
    plain = variants("burst/deployment-200")[None]

    assert resolution_s(make_cluster("one", [plain])) is None
    assert resolution_s(make_cluster("one", [plain, recovery[None]])) == 10
    assert resolution_s(make_cluster("one", [recovery["full"]])) == 15
    with pytest.raises(InputError) as caught:
        make_cluster("one", recovery.values())
    assert "hpa/recovery@full needs usage measured every 15 s" in str(caught.value)
    assert "--variant" in str(caught.value)
    # One that will be skipped changes nothing about it.
    assert make_cluster("one", recovery.values(), Backend.KIND).backend is Backend.KIND


def test_a_scenario_is_reported_what_a_backend_lacks() -> None:
    """It is skipped with that reason, instead of failing after minutes."""
    recovery = variants("hpa/recovery")[None]
    interrupted = variants("interruptions/mid-burst")[None]
    plain = variants("burst/deployment-200")[None]

    assert find_missing(Backend.KIND, recovery).startswith("kind has no usage: ")
    # A process in a container cannot be stopped from here.
    assert "has no processes: " in find_missing(Backend.KIND, interrupted)
    assert find_missing(Backend.KIND, plain) == ""
    for asking in (recovery, interrupted):
        assert find_missing(Backend.KWOK_BINARY, asking) == ""


@pytest.mark.parametrize(
    ("names", "taken"),
    [
        # What wants the release that a worker has: others wait for one.
        ([STOCK[0], "plans/asked-for", *STOCK[1:], "plans/careful"], [*STOCK, "plans/asked-for", "plans/careful"]),
        # A scheduler that has planned remembers it; who measures gets a new one anyway.
        (PLANNED, PLANNED),
        ([STOCK[0], "plans/careful", "burst/recorded", STOCK[1]], [*STOCK[:2], "plans/careful", "burst/recorded"]),
        # Bounds on figures are about a machine with nothing else on it.
        (["burst/deployment-200", STOCK[0]], [STOCK[0], None]),
    ],
    ids=["releases", "plans", "measures", "bounds"],
)
def test_scenarios_are_taken_where_they_wait_for_little_and_disturb_nobody(
    names: Sequence[str], taken: Sequence[str | None]
) -> None:
    """By one worker; what is left is for the last of them."""
    scenarios = tuple(load_file(SCENARIOS / f"{name}.yaml")[0] for name in names)
    queue = TaskQueue(list_tasks(RunRequest(scenarios, 1)))
    tasks = [queue.take(0, is_last=False) for _ in taken]

    assert [task.scenario.name if task else None for task in tasks] == list(taken)
    assert queue.take(1, is_last=False) is None
    left = [queue.take(0, is_last=True) for _ in scenarios]
    assert len([task for task in (*tasks, *left) if task]) == len(scenarios)


def test_scenarios_that_can_share_a_cluster_run_one_after_the_other() -> None:
    """A gate is a matter of the whole cluster: each change of it costs a new one, in every round."""
    gang, plain = variants("gangs/all-or-none")[None], variants(STOCK[0])[None]
    request = RunRequest((gang, plain), repeat=2)

    assert [(one.scenario.name, one.repeat) for one in list_tasks(request)] == [
        (plain.name, 1), (plain.name, 2), (gang.name, 1), (gang.name, 2),
    ]  # fmt: skip
    assert narrow_to(request, gang.features).scenarios == (gang,)
    assert make_cluster("one", [gang], features=gang.features).features == gang.features
    queue = TaskQueue(list_tasks(request))
    taken = [queue.take(worker, is_last=False) for worker in (0, 1, 1, 0)]
    assert [one.scenario.name for one in taken if one] == [plain.name, plain.name, gang.name, gang.name]


def test_a_scenario_gets_its_gates_unless_its_minor_or_a_given_cluster_has_none() -> None:
    """It is skipped there, beside the others, and says what is lacking."""
    gang = variants("gangs/all-or-none")[None]
    of_1_36, given = RunRequest((gang,), minor="1.36"), RunRequest((gang,), cluster="mine")

    assert choose_features(RunRequest((gang,), minor="1.37"), gang) == gang.features
    assert not choose_features(of_1_36, gang)
    assert not choose_features(given, gang)
    assert "1.36 does not serve" in KwokBinaryCluster("mine", minor="1.36").find_missing(gang.features)
    lacking = KwokBinaryCluster("mine", minor="1.37").find_missing(gang.features)
    assert lacking.startswith("cluster mine was brought up without --feature-gate GenericWorkload=true")
    assert KwokBinaryCluster("mine", minor="1.37", features=gang.features).find_missing(gang.features) == ""


def test_clusters_are_as_many_as_machine_and_scenarios_are_good_for() -> None:
    """One more would come up for nothing, or make all of them slow."""
    for tasks, cores, clusters_that_fit, jobs in (
        (35, 2, 8, 3),
        (35, 1, 8, 1),
        (35, 16, 3, 3),
        (35, 16, 32, 8),
        (3, 16, 32, 1),
        (35, 2, 0, 1),
    ):
        assert choose_number(tasks, cores, clusters_that_fit * CLUSTER_BYTES) == jobs


def test_lines_of_a_scenario_stay_together_in_the_order_of_the_files() -> None:
    """Line by line in turn two cannot be read; who watches sees something happen.

    What is of no scenario waits for the end of one, and what had passed before Ctrl-C has passed.
    """
    order, said = InOrder(), list[str]()

    def say(line: str) -> Callable[[], None]:
        return lambda: said.append(line)

    order.tell(None, say("one cluster"))
    order.tell(1, say("b begins"))
    order.tell(0, say("a begins"))
    order.tell(None, say("another cluster"))
    order.tell(2, say("c"))
    order.end(2)
    assert order.holds_back
    order.tell(0, say("a ends"))
    assert said == ["one cluster", "a begins", "a ends"]
    order.end(0)
    assert said[3:] == ["another cluster", "b begins"]
    order.tell(1, say("b ends"))
    order.end(1)
    assert said[5:] == ["b ends", "c"]
    assert not order.holds_back
    order.tell(5, say("d"))
    assert said[7:] == []
    order.close()
    order.tell(4, say("a cluster goes down"))
    assert said[7:] == ["d", "a cluster goes down"]
