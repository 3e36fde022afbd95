"""How tests are dealt out to the processes of pytest-xdist."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from types import SimpleNamespace

import pytest

from tests.conftest import ClustersApart

RUN = ["tests/e2e/run/test_a.py::one", "tests/e2e/run/test_a.py::two"]
FAULT = ["tests/fault/test_b.py::one", "tests/fault/test_b.py::two"]
PLANS = ["tests/e2e/plans/test_c.py::one", "tests/e2e/plans/test_d.py::one"]
DOCS = ["tests/e2e/docs/test_e.py::one"]
UNIT = ["tests/unit/x/test_f.py::one", "tests/unit/x/test_f.py::two"]
OTHER = ["tests/unit/y/test_f.py::one"]


class Process:
    """A process of pytest-xdist that records what it is given."""

    def __init__(self, name: str, tests: Sequence[str]) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.shutting_down = False
        self.given: list[str] = []
        self._tests = tests

    def send_runtest_some(self, indices: Sequence[int]) -> None:
        self.given += [self._tests[index] for index in indices]

    def shutdown(self) -> None:
        self.shutting_down = True


class Dealt:
    """A session with two processes, of which a test decides when a test is done."""

    def __init__(self, *scopes: Sequence[str]) -> None:
        self.tests = [test for scope in scopes for test in scope]
        config = SimpleNamespace(
            option=SimpleNamespace(loadscopereorder=True),
            getvalue=lambda _name: ["2*popen"],
        )
        self.scheduler = ClustersApart(config)
        self.one, self.two = (Process(name, self.tests) for name in ("one", "two"))
        for process in (self.one, self.two):
            self.scheduler.add_node(process)
            self.scheduler.add_node_collection(process, self.tests)
        self.scheduler.schedule()

    def done(self, process: Process, tests: Sequence[str]) -> None:
        assert set(tests) <= set(process.given)
        for test in tests:
            self.scheduler.mark_test_complete(process, self.tests.index(test))


def test_sensitive_tests_are_one_scope_and_the_first() -> None:
    """They must not run beside one another, nor be what all wait for at the end."""
    dealt = Dealt(UNIT, RUN, FAULT, OTHER)

    assert dealt.one.given == [*RUN, *FAULT]
    assert dealt.two.given == [*UNIT, *OTHER]


def test_nothing_with_a_cluster_starts_beside_them() -> None:
    """A control plane that comes up takes both cores for seconds."""
    dealt = Dealt(RUN, FAULT, PLANS, DOCS, UNIT)

    dealt.done(dealt.two, UNIT)
    assert dealt.two.given == UNIT
    assert not dealt.two.shutting_down

    dealt.done(dealt.one, [*RUN, *FAULT[:1]])
    assert dealt.two.given == UNIT
    dealt.done(dealt.one, FAULT[1:])
    assert {*dealt.one.given, *dealt.two.given} == set(dealt.tests)
    assert dealt.two.given != UNIT


def test_clusters_run_beside_tests_without_while_there_are_any() -> None:
    """One mostly waits, the other computes."""
    dealt = Dealt(PLANS, DOCS, UNIT, OTHER)

    assert dealt.one.given[:2] == PLANS
    assert dealt.two.given == [*UNIT, *OTHER]


def test_a_folder_with_a_cluster_is_not_split() -> None:
    """Its files share one cluster, which would come up twice."""
    dealt = Dealt(PLANS, UNIT)

    assert dealt.one.given == PLANS


def test_the_last_clusters_go_to_both() -> None:
    """Else one process would be done long before the other."""
    dealt = Dealt(PLANS, ["tests/e2e/whatif/test_g.py::one"], DOCS)

    assert set(dealt.one.given) & set(PLANS)
    assert dealt.two.given
    assert {*dealt.one.given, *dealt.two.given} == set(dealt.tests)


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_every_test_is_run_and_the_session_ends(seed: int, dies: bool) -> None:
    """A process keeps its last test until it knows what comes next, or that none does.

    If two wait for each other, the session hangs.
    """
    draw = Random(seed)  # noqa: S311 - not for secrets
    dealt = Dealt(UNIT, RUN, PLANS, DOCS, OTHER, FAULT)
    processes = [dealt.one, dealt.two]
    left = dict.fromkeys(processes, 0)
    run: set[str] = set()
    killed_at = draw.randrange(len(dealt.tests)) if dies else None

    while dealt.scheduler.has_pending:
        if dealt.scheduler.tests_finished:  # as pytest-xdist does whenever it is so
            for process in processes:
                process.shutdown()
        able = [p for p in processes if left[p] < len(p.given) - (not p.shutting_down)]
        assert able, f"nobody goes on: {[p.given for p in processes]}"
        process = draw.choice(able)
        if len(run) == killed_at:
            killed_at = None
            processes.remove(process)
            dealt.scheduler.remove_node(process)
            process = Process("three", dealt.tests)
            processes.append(process)
            left[process] = 0
            dealt.scheduler.add_node(process)
            dealt.scheduler.add_node_collection(process, dealt.tests)
            dealt.scheduler.schedule()
            continue
        test = process.given[left[process]]
        left[process] += 1
        run.add(test)
        dealt.done(process, [test])

    assert run == set(dealt.tests)
    assert all(process.shutting_down for process in processes)


def test_what_a_process_that_died_had_is_given_to_another() -> None:
    """Also what it alone may run."""
    dealt = Dealt(RUN, FAULT, UNIT, PLANS)

    assert dealt.scheduler.remove_node(dealt.one) == RUN[0]
    dealt.done(dealt.two, UNIT)

    assert set(dealt.two.given) >= {*RUN, *FAULT}
