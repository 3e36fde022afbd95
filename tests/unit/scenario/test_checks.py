"""What is expected of a moment, of metrics and of objects, against what was found."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from amounts import GPU, size, taken

from stowage_testbed.metrics.state import ClusterState, NodeState, PodState
from stowage_testbed.scenario.check import (
    CheckResult,
    Moment,
    OptimizerRecord,
    check_metrics,
    check_moment,
    find_differences,
)
from stowage_testbed.scenario.expected import ExpectedMoment, MetricBound
from stowage_testbed.scenario.expression import Expression
from stowage_testbed.scenario.reading import read
from stowage_testbed.scenario.yaml_file import Document

GB = 10**9
CASES: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("checks.yaml").read_text("utf-8"))
WORKLOADS = {"web-1": "web", "web-2": "web", "db-1": "db"}


BEFORE = ("node-0", "node-1", "")


def figure_1(first: str, second: str, third: str) -> ClusterState:
    """Return the pods of Figure 1, one of which has GPUs, on two nodes."""
    with_gpus = size(4000, 4 * GB, more={GPU: 4})
    return ClusterState(
        nodes=(NodeState("node-0", with_gpus), NodeState("node-1", size(4000, 4 * GB))),
        pods=(
            PodState("first", first or None, taken(100, 2 * GB, {GPU: 3})),
            PodState("second", second or None, taken(100, 2 * GB)),
            PodState("third", third or None, taken(100, 3 * GB), priority=1),
        ),
    )


def results_of(
    expected: Mapping[str, Any],
    *on: str,
    tolerance: float = 1e-6,
    phases: Mapping[str, int] | None = None,
    **moment: Any,
) -> list[CheckResult]:
    """Return what is found where a plan with one move is proved to be best."""
    plans = OptimizerRecord(1, 1, 0, optimal=True, phases=phases or {})
    found = Moment(figure_1(*(on or BEFORE)), plans=plans, **moment)
    made = read(ExpectedMoment, document := Document(Path(), expected), "it")
    assert made, document.issues
    return list(check_moment(made, found, tolerance))


def messages_of(results: Iterable[CheckResult]) -> str:
    return "; ".join(one.message for one in results if not one.passed)


@pytest.mark.parametrize("case", CASES["moments"])
def test_a_failed_check_says_what_was_expected_and_found(case: dict[str, Any]) -> None:
    """Nobody should have to rerun to learn by how much it missed."""
    moment = {key: case[key] for key in ("tolerance", "phases") if key in case}
    before = figure_1(*case["before"]) if "before" in case else None
    results = results_of(case["expect"], *case.get("on", ()), before=before, **moment)

    assert results
    assert messages_of(results) == case.get("fails", "")


@pytest.mark.parametrize("case", CASES["objects"])
def test_each_word_of_an_object_can_hold_and_can_fail(case: dict[str, Any]) -> None:
    """A check that cannot fail shows nothing."""

    def of_peak(expected: dict[str, Any], **there: Any) -> str:
        objects = {"objects": {"peak": expected}}
        return messages_of(results_of(objects, objects=there, workload_of=WORKLOADS))

    peak = CASES["peak"]
    assert "peak" in of_peak(case["fails"], peak=peak)
    assert of_peak(case["holds"], peak=peak) == ""
    # Else a name that nobody ever creates would pass.
    assert of_peak(case["holds"]) == "peak is there: expected true, found false"
    # A reservation that is used up, or a plan that was taken back.
    gone = {"there": False}
    assert of_peak(gone, peak=peak) == "peak is there: expected false, found true"
    assert of_peak(gone) == ""


@pytest.mark.parametrize("case", CASES["metrics"])
def test_a_metric_beyond_its_bound_or_without_a_value_fails(case: dict[str, Any]) -> None:
    """A measurement that failed must not look like a fast one."""
    bounds = CASES["bounds"].items()
    made = {name: bound for name, plain in bounds if (bound := read(MetricBound, Document(Path(), plain), "it"))}
    results = list(check_metrics(made, case["values"], case.get("notes", {})))

    assert len(results) == len(made) == len(bounds)
    assert messages_of(results) == case.get("fails", "")


EXPRESSIONS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("expressions.yaml").read_text("utf-8"))


@pytest.mark.parametrize(("text", "read"), EXPRESSIONS["expressions"].items())
def test_an_expression_holds_or_says_what_it_has_read(text: str, read: str) -> None:
    """What was wrong must be found without another run."""
    said = Expression(text).look(EXPRESSIONS["values"])

    assert (said is None) == (not read)
    assert read in (said or "")


def test_an_expression_names_what_it_reads() -> None:
    """A list of every slice of a large fleet is made only for those that ask for it."""
    lists = {"pods", "nodes", "plans", "slices", "classes", "claims", "objects", "metrics"}
    for text, names in {
        "pods.all(p, has(p.spec.nodeName))": {"pods"},
        "claims.exists(c, slices.all(s, s.spec.driver == c.metadata.name))": {"claims", "slices"},
        "objects['a-b'].spec.nodes == 1 && metrics.t < 1.0": {"objects", "metrics"},
        "pods.map(nodes, nodes.metadata.name).size() == 1": {"pods", "nodes"},  # a name of its own is read in vain
        "1 < 2": set[str](),
    }.items():
        assert Expression(text).names & lists == names


@pytest.mark.parametrize(("text", "column"), EXPRESSIONS["none"].items())
def test_what_is_no_expression_is_refused_with_its_column(text: str, column: int) -> None:
    """When the file is read."""
    with pytest.raises(ValueError, match=f"is no CEL expression, from its character {column} on"):
        Expression(text)


@pytest.mark.parametrize("part", EXPRESSIONS["parts"])
def test_a_field_that_differs_is_named_by_its_path(part: list[Any]) -> None:
    """Else a reader has to compare two objects by eye."""
    wanted, *differs = part
    found = [tuple(differs)] if differs else []
    assert list(find_differences(wanted, EXPRESSIONS["object"])) == found
