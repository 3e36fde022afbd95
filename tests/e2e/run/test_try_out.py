"""`stowage try`, as somebody types it who has just installed it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlparse

import pytest

from stowage_testbed.cluster.listing import list_clusters

pytestmark = pytest.mark.e2e

COMMAND = (sys.executable, "-c", "from stowage_testbed.cli import main; main()", "try")


def try_out(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_one_command_goes_from_nothing_to_a_page(tmp_path: Path) -> None:
    """Pods wait, fewer wait afterwards, the page is there, and nothing is left."""
    before = {cluster.name for cluster in list_clusters()}

    done = try_out("--nodes", "6", folder=tmp_path)

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


def test_a_folder_that_cannot_be_written_to_is_named_at_once(tmp_path: Path) -> None:
    """Before a cluster is brought up for results that nobody can keep."""
    (tmp_path / "results").write_text("a file")

    done = try_out(folder=tmp_path)

    assert done.returncode == 2
    assert "cannot write results to" in done.stderr
    assert "cluster" not in done.stderr
