"""One scenario on every backend: the same placements, and nothing left behind."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest

from stowage_testbed.base import layout
from stowage_testbed.images.docker_engine import docker

pytestmark = [pytest.mark.e2e, pytest.mark.container, pytest.mark.nightly]

SCENARIOS = ("paper/figure-1",)
# As asserted without containers by `tests/e2e/scenarios`: placements are deterministic.
BACKENDS = ("kwok-binary", "kind")


def run_on(backend: str, folder: Path) -> Any:
    file = folder / f"{backend}.json"
    command = ["stowage", "run", *SCENARIOS, "--backend", backend]
    files = ["--json", str(file), "--results", str(folder / backend)]
    done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(file.read_text("utf-8"))


def test_the_placements_are_those_without_containers_and_nothing_is_left(tmp_path: Path) -> None:
    """A scenario's figures mean the same wherever it was run, as users deploy it.

    No container, network, volume, process or folder stays, whichever backend it was.
    """
    runs = {backend: run_on(backend, tmp_path) for backend in BACKENDS}

    hashes = {}
    for backend, document in runs.items():
        assert document["passed"]
        assert all(not one["skipped"] for one in document["scenarios"])
        hashes[backend] = [
            (one["name"], one["placement_hash"])
            for scenario in document["scenarios"]
            for one in scenario["checkpoints"]
        ]
        cluster = document["cluster"]
        assert not (layout.clusters_folder() / cluster).exists()
        assert docker("ps", "--all", "--quiet", "--filter", f"name={cluster}") == ""
        assert docker("network", "ls", "--quiet", "--filter", f"name={cluster}") == ""
        assert not [
            process.pid
            for process in psutil.process_iter(["cmdline"])
            if any(cluster in word for word in process.info["cmdline"] or ())
        ]
    assert hashes["kind"] == hashes["kwok-binary"]
    assert docker("volume", "ls", "--quiet") == ""
