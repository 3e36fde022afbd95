"""What holds for every test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

WITH_CLUSTERS = ("e2e", "fault")
"""Folders of tests that use clusters."""


class ClustersApart(LoadScopeScheduling):  # type: ignore[misc] # xdist is untyped
    """Gives the tests with clusters to one process, and others by their file.

    So no two clusters compete for the machine. Groups by mark would say the same, but
    pytest-xdist 3.8 cannot put them into the names of pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = PurePosixPath(nodeid.split("::", maxsplit=1)[0])
        return "clusters" if file.parts[1] in WITH_CLUSTERS else str(file)


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
