"""The processes that judge, once for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stowage_testbed.agreement.comparison import Judges, running_judges
from stowage_testbed.toolchain import install_tools


@pytest.fixture(scope="session")
def judges() -> Iterator[Judges]:
    install_tools(["stowage-simulate"], quiet=True)
    with running_judges() as running:
        yield running
