"""What holds for every unit test."""

import pytest

from stowage_testbed.base import health


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no test end the cluster that end-to-end tests of its session share."""
    monkeypatch.setattr(health, "_needs", [])
