"""What holds for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _no_step_summary() -> Iterator[None]:
    """In CI, runs that fail on purpose would stand in the summary as failures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("GITHUB_STEP_SUMMARY", raising=False)
        yield
