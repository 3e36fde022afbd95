"""Pods on the clock of the API server."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from watched_pods import NAMESPACE, at, life, logged, seen

from stowage_testbed.observe.answers import Answered, read_answers
from stowage_testbed.observe.audit import AuditEntry
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.timeline import read_pod_timelines


def answered(changes: Sequence[Change], entries: Sequence[AuditEntry]) -> Answered:
    """Return the pods that the watch received so, as the log has them."""
    return read_answers(read_pod_timelines(changes, NAMESPACE), entries)


def test_an_answer_that_comes_late_is_no_later_than_that_to_a_later_change() -> None:
    """A binding is written after the creation: when it is answered, both had happened.

    A latency below zero would be the worst of all answers.
    """
    found = answered(
        life("a", 101, 101.2, 103),
        [
            logged(100.9, name="a", took=0.4),
            logged(100.8, "binding", "a", took=0.1),
        ],
    )

    (line,) = found.timelines
    assert (line.created, line.bound) == (at(100.8), at(100.8))
    assert found.late_s == pytest.approx(0.1, rel=0.5)


def test_no_change_happens_before_it_is_asked_for() -> None:
    """A stamp that is wrong, as after a step of the clock, must not spoil others."""
    found = answered(
        life("a", 101, 102, 103),
        [
            logged(100.9, name="a", took=0.1),
            logged(50, "binding", "a"),
        ],
    )

    (line,) = found.timelines
    assert line.created == at(100.8)


def test_a_name_that_is_used_again_has_the_later_request() -> None:
    """A StatefulSet makes its pods anew under their names."""
    entries = [
        logged(100.9, name="a"),
        logged(101.9, "binding", "a"),
        logged(104.9, name="a"),
        logged(105.9, "binding", "a"),
    ]

    (line,) = answered(life("a", 105, 106, 107), entries).timelines

    assert (line.created, line.bound) == (at(104.9), at(105.9))


def test_a_pod_that_is_made_with_its_node_is_bound_by_its_creation() -> None:
    """No binding is missing then."""
    made = seen(101, Verb.ADDED, "a", node="n1")

    found = answered([made], [logged(100.9, name="a")])

    (line,) = found.timelines
    assert (line.created, line.bound) == (at(100.9), at(100.9))
    assert found.missing == 0


def test_what_the_log_lacks_is_counted() -> None:
    """Another pod's request, or one that was refused, is none of its own."""
    found = answered(life("a", 101, 102, 103), [logged(100.9, name="b")])

    assert found.missing == 2
    assert found.lags_s == ()
