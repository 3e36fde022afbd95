"""What holds for every test."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import PurePosixPath

import pytest
from hypothesis import settings
from offline import OFFLINE, hold_own_tools, naming_the_set_up
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

# How long an example takes says how busy the machine is, and nothing of what is tested.
# No submission fails for an example that it did not bring: new ones are tried at night.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("random", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

WITH_CLUSTERS = ("e2e", "fault")
"""Folders of tests that use clusters."""

SENSITIVE = ("benchmarks", "cluster", "compare", "container", "hpa", "run")
"""Folders of ``e2e`` whose tests a second cluster would change.

They measure, expect an end within seconds, own the machine's containers, or kill the
owner of a cluster and look at what is left: whoever starts a cluster purges that.
"""

ALONE = "sensitive clusters"
"""The scope of all such tests, and of those that inject faults."""


class ClustersApart(LoadScopeScheduling):  # type: ignore[misc] # xdist is untyped
    """Deals tests out so that no cluster runs beside one that is measured.

    Tests without clusters are dealt out by their file, those with clusters by their
    folder, which has fixtures of its own, and the sensitive ones as one scope. That
    goes to one process at the start. While it lasts, the other processes run tests
    without clusters, which load the machine evenly; if they run out of these, they
    wait. Afterwards folders with clusters go to every process, yet two at a time only
    if nothing else is left: such a test mostly waits, a test without clusters
    computes, and the two fit together on a small machine.

    Groups by mark would not say as much, and pytest-xdist 3.8 cannot put them into the
    names of pytest 9.2.
    """

    def remove_node(self, node: WorkerController) -> str | None:
        """Take back what a process that died has not done.

        pytest-xdist takes back whole scopes that are done as well, and who is given one
        of these waits for ever.
        """
        self.assigned_work[node] = {
            scope: tests
            for scope, tests in self.assigned_work[node].items()
            if not all(tests.values())
        }
        crashed: str | None = super().remove_node(node)
        return crashed

    def mark_test_complete(
        self, node: WorkerController, item_index: int, duration: float = 0
    ) -> None:
        """Note that a test is done, which may be what another process waits for."""
        nodeid = self.registered_collections[node][item_index]
        self.assigned_work[node][self._split_scope(nodeid)][nodeid] = True
        works = self.assigned_work
        for one in sorted(works, key=lambda one: self._pending_of(works[one])):
            self._reschedule(one)

    def _split_scope(self, nodeid: str) -> str:
        file = PurePosixPath(nodeid.split("::", maxsplit=1)[0])
        if file.parts[1] not in WITH_CLUSTERS:
            return str(file)
        sensitive = file.parts[1] == "fault" or file.parts[2] in SENSITIVE
        return ALONE if sensitive else str(file.parent)

    def _assign_work_unit(self, node: WorkerController) -> None:
        scope = self._next_scope(node)
        if scope is not None:
            self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)
            # It keeps its last test until it knows what comes next.
            if self._pending_of(self.assigned_work[node]) < 2:
                self._reschedule(node)

    def _next_scope(self, node: WorkerController) -> str | None:
        """Return what a process gets next, or None if it has to wait."""
        elsewhere = {
            scope
            for other, scopes in self.assigned_work.items()
            for scope, tests in scopes.items()
            if other is not node and _has_cluster(scope) and not all(tests.values())
        }
        folders = [one for one in self.workqueue if _has_cluster(one) and one != ALONE]
        files = [one for one in self.workqueue if not _has_cluster(one)]
        if ALONE in self.workqueue:
            choice = [ALONE]
        elif ALONE in elsewhere:
            choice = files
        else:
            choice = [*files, *folders] if elsewhere else [*folders, *files]
        return next(iter(choice), None)


def _has_cluster(scope: str) -> bool:
    return scope == ALONE or PurePosixPath(scope).parts[1] in WITH_CLUSTERS


def pytest_configure() -> None:
    """Let no test fetch anything: one that tries fails at once, and not on some day.

    It holds for the processes of pytest-xdist and all that a test starts. What set-up
    has built stays until the last test.
    """
    os.environ.update(OFFLINE)
    hold_own_tools()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    """Say how it comes what a fixture lacks."""
    with naming_the_set_up():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Say how it comes what a test lacks."""
    with naming_the_set_up():
        return (yield)


def pytest_xdist_make_scheduler(
    config: pytest.Config, log: Producer
) -> LoadScopeScheduling:
    """Deal tests out to the processes of pytest-xdist."""
    return ClustersApart(config, log)


@pytest.fixture(scope="session", autouse=True)
def _no_step_summary() -> Iterator[None]:
    """In CI, runs that fail on purpose would stand in the summary as failures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("GITHUB_STEP_SUMMARY", raising=False)
        yield
