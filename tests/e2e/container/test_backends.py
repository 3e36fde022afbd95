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


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the document of a run on each backend."""
    folder = tmp_path_factory.mktemp("backends")
    return {backend: run_on(backend, folder) for backend in BACKENDS}


def run_on(backend: str, folder: Path) -> Any:
    file = folder / f"{backend}.json"
    command = ["stowage", "run", *SCENARIOS, "--backend", backend]
    files = ["--json", str(file), "--results", str(folder / backend)]
    done = subprocess.run(
        [*command, *files], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(file.read_text("utf-8"))


def test_every_backend_passes_every_check(runs: dict[str, Any]) -> None:
    """What passes on the host must pass as users deploy it."""
    for document in runs.values():
        assert document["passed"]
        assert all(not one["skipped"] for one in document["scenarios"])


def test_the_placements_are_those_without_containers(runs: dict[str, Any]) -> None:
    """A scenario's figures mean the same wherever it was run."""
    hashes = {
        name: [
            (one["name"], one["placement_hash"])
            for scenario in document["scenarios"]
            for one in scenario["checkpoints"]
        ]
        for name, document in runs.items()
    }
    assert hashes["kind"] == hashes["kwok-binary"]


def test_nothing_is_left_of_them(runs: dict[str, Any]) -> None:
    """No container, network, volume, process or folder, whichever backend it was."""
    for document in runs.values():
        cluster = document["cluster"]
        assert not (layout.clusters_folder() / cluster).exists()
        assert docker("ps", "--all", "--quiet", "--filter", f"name={cluster}") == ""
        assert docker("network", "ls", "--quiet", "--filter", f"name={cluster}") == ""
        assert not [
            process.pid
            for process in psutil.process_iter(["cmdline"])
            if any(cluster in word for word in process.info["cmdline"] or ())
        ]
    assert docker("volume", "ls", "--quiet") == ""
