"""What holds for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

TOGETHER = ("e2e", "browser")
"""Marks of tests that use clusters: one process of pytest-xdist has all of them, so
that no two clusters compete for the machine."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests with clusters together when others run beside them.

    First, since pytest-xdist reads the groups in the same hook.
    """
    for item in items:
        if any(item.get_closest_marker(name) for name in TOGETHER):
            item.add_marker(pytest.mark.xdist_group("clusters"))


@pytest.fixture(scope="session", autouse=True)
def _no_step_summary() -> Iterator[None]:
    """In CI, runs that fail on purpose would stand in the summary as failures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("GITHUB_STEP_SUMMARY", raising=False)
        yield
