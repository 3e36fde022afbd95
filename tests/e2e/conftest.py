"""What end-to-end tests share, and what pytest leaves alone: a project of its own."""

import secrets
from collections.abc import Iterator

import pytest

from stowage_testbed.cluster import KwokBinaryCluster

collect_ignore = ["sample_project"]


@pytest.fixture
def cluster_name() -> Iterator[str]:
    """Return a new cluster's name; whatever the test leaves of it is removed."""
    chosen = f"test-{secrets.token_hex(3)}"
    yield chosen
    KwokBinaryCluster(chosen).down()
