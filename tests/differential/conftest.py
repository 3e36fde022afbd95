"""The processes that verify plans, once for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.differential.agreement import Verifiers, running_verifiers


@pytest.fixture(scope="session")
def verifiers() -> Iterator[Verifiers]:
    with running_verifiers() as running:
        yield running
