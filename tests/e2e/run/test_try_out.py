"""`stowage try`, as somebody types it who has just installed it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from urllib.parse import urlparse

import pytest
from stowage_run import MAIN, STOWAGE

from stowage_testbed.cluster.listing import list_clusters

pytestmark = pytest.mark.e2e


def test_one_command_goes_from_nothing_to_a_page(tmp_path: Path) -> None:
    """Pods wait, fewer wait afterwards, the page is there, and nothing is left."""
    before = {cluster.name for cluster in list_clusters()}

    done = subprocess.run(
        [*STOWAGE, MAIN, "try", "--nodes", "6"], cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False
    )

    assert done.returncode == 0, done.stderr
    counts = re.search(r"waiting: (\d+) before, (\d+) after", done.stdout)
    assert counts is not None
    assert int(counts[1]) > int(counts[2])
    (address,) = re.findall(r"page: (\S+)", done.stdout)
    page = Path(urlparse(address).path)
    assert page.is_relative_to(tmp_path / "results")
    assert "Before and after" in page.read_text(encoding="utf-8")
    assert "stowage whatif" in done.stdout
    assert {cluster.name for cluster in list_clusters()} == before
