"""Upstream's end-to-end tests: what is left out says why, what fails names who."""

from __future__ import annotations

import pytest

from benchmarks.upstream.end_to_end import (
    NEEDS_A_KUBELET,
    NEEDS_PREEMPTION,
    left_out,
    spec_figure,
)
from benchmarks.upstream.profiles import PROFILES, STOCK
from benchmarks.upstream.specs import Spec, SpecResult, read_spec
from stowage_testbed.base.errors import StowageError

SCORE_CACHE = next(one for one in PROFILES if one.name == "score-cache")


def ended(profile: str, spec: str, result: str) -> SpecResult:
    return SpecResult(spec, profile, result, "", 1.0)


def test_a_test_says_which_gates_its_cluster_must_have() -> None:
    """Upstream writes them as labels, of the test and of what is around it."""
    spec = read_spec(
        {
            "ContainerHierarchyTexts": ["[sig-scheduling] Gangs"],
            "ContainerHierarchyLabels": [["FeatureGate:GenericWorkload", "Beta"]],
            "LeafNodeText": "waits for its quorum",
            "LeafNodeLabels": ["FeatureGate:Other", "Feature:OffByDefault"],
        }
    )
    by_itself = read_spec(
        {
            "ContainerHierarchyTexts": None,
            "ContainerHierarchyLabels": None,
            "LeafNodeText": "preempts",
            "LeafNodeLabels": ["FeatureGate:SchedulerAsyncPreemption"],
        }
    )

    assert spec == Spec(
        "[sig-scheduling] Gangs waits for its quorum",
        frozenset({"GenericWorkload", "Other"}),
    )
    assert by_itself == Spec("preempts", frozenset())


def test_only_what_passes_with_stock_is_held_against_a_profile() -> None:
    """A test that fake nodes fail says nothing of a scheduler."""
    found = [
        ended("default", "a", "passed"), ended("default", "b", "failed"),
        ended("default", "c", "skipped"),
        ended("score-cache", "a", "failed"), ended("score-cache", "b", "failed"),
        ended("score-cache", "c", "skipped"),
    ]  # fmt: skip

    ours, stock = spec_figure(SCORE_CACHE, found), spec_figure(STOCK, found)

    assert (ours.value, ours.runs, ours.note, ours.met) == (1.0, 1, "a", False)
    assert (stock.value, stock.runs, stock.note) == (1.0, 2, "b")


def test_nothing_is_claimed_where_stock_passes_nothing() -> None:
    """A cluster on which no test can run would otherwise prove every profile right."""
    found = [ended("default", "a", "failed"), ended("score-cache", "a", "passed")]

    ours = spec_figure(SCORE_CACHE, found)

    assert (ours.value, ours.met, ours.runs) == (None, None, 0)


def test_what_is_left_out_has_a_reason_and_is_there() -> None:
    """The list would otherwise outlive what it excuses."""
    always = [Spec(words, frozenset()) for words in NEEDS_A_KUBELET]
    preempting = [Spec(words, frozenset()) for words in NEEDS_PREEMPTION]
    without = next(one for one in PROFILES if not one.preempts)

    assert left_out([*always, *preempting], SCORE_CACHE) == NEEDS_A_KUBELET
    assert left_out([*always, *preempting], without).keys() == {
        *NEEDS_A_KUBELET, *NEEDS_PREEMPTION,
    }  # fmt: skip
    with pytest.raises(StowageError, match="upstream has no test with the words"):
        left_out(always[1:], SCORE_CACHE)
    with pytest.raises(StowageError, match="upstream has no test with the words"):
        left_out([*always, *preempting[1:]], without)
