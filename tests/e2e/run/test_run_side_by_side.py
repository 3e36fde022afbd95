"""`stowage run --jobs`: reported as if one had done it all, and nothing is left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from stowage_run import StowageRun

from stowage_testbed.base.wait import HANG_S

pytestmark = pytest.mark.e2e

SCENARIOS = (
    "kubernetes/parallel-job",
    "kubernetes/sidecars",
    "paper/figure-1",
    "burst/deployment-200@small",
    "kubernetes/quota-and-limits",
)


def test_several_report_as_one_does(tmp_path: Path) -> None:
    """Logs and documents are read, and compared, by people and programs.

    A scenario's lines are one block, in the order in which scenarios were asked for.
    """
    run = StowageRun(tmp_path, "run", *SCENARIOS, "--jobs", "2")

    assert run.process.wait(HANG_S * 2) == 0, run.said
    ended = [line.split()[1] for line in run.said.splitlines() if " in " in line]
    assert [one for one in ended if one in SCENARIOS] == list(SCENARIOS)
    parts = [line.partition(": ") for line in run.said.splitlines()]
    shown = [name for name, _, step in parts if name in SCENARIOS and step]
    blocks = [name for at, name in enumerate(shown) if shown[at - 1 : at] != [name]]
    assert blocks == list(SCENARIOS)
    (file,) = tmp_path.glob("results/*/run.json")
    document = json.loads(file.read_text())
    assert document["passed"] is True
    assert [
        f"{one['scenario']}@{one['variant']}" if one["variant"] else one["scenario"] for one in document["scenarios"]
    ] == list(SCENARIOS)
    assert len(document["cluster"].split(", ")) == 2
    configs = document["environment"]["config_hashes"]
    assert {f"{name}: scenario" for name in SCENARIOS} <= set(configs)
    assert run.left() == []
