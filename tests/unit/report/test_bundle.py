"""The results bundle and the evidence of failures."""

from __future__ import annotations

import json
from pathlib import Path

from outcomes import FAILED, a_material, a_plan, a_run, an_outcome

from testbed.report.bundle import Bundle
from testbed.report.evidence_keeper import EvidenceKeeper


def test_a_bundle_holds_what_rebuilds_the_tables(tmp_path: Path) -> None:
    """Months later there is no cluster any more, only this folder."""
    scenario = tmp_path / "figure-1.yaml"
    scenario.write_text("name: paper/figure-1\n")
    outcome = an_outcome(after={"a": ["n1"], "b": ["n1"]}, path=scenario)
    bundle = Bundle(tmp_path / "results", "run-1", {"tools": {"etcd": "3.6.8"}})

    bundle.run_started("run-1", 1)
    bundle.scenario_finished(outcome, a_material(tmp_path / "audit.log"))
    bundle.run_finished(a_run(outcome))

    document = json.loads((bundle.folder / "run.json").read_text())
    (entry,) = document["scenarios"]
    assert entry["before"]["placements"] == {"a": ["n1"], "b": ["n2"]}
    assert entry["after"]["placements"] == {"a": ["n1"], "b": ["n1"]}
    assert document["environment"]["tools"] == {"etcd": "3.6.8"}
    assert set(document["environment"]["config_hashes"]) == {
        "paper/figure-1: scenario",
        "paper/figure-1: values-deterministic",
        "paper/figure-1: scheduler-deterministic",
    }
    folder = bundle.folder / "paper-figure-1" / "round-1"
    assert {path.name for path in folder.iterdir()} == {
        "events.jsonl",
        "outcome.json",
        "scenario.yaml",
        "scheduler-deterministic.yaml",
        "values-deterministic.yaml",
    }


def test_a_failure_leaves_its_evidence_and_says_where(tmp_path: Path) -> None:
    """The cluster is gone by the time anyone asks why."""
    said: list[str] = []
    keeper = EvidenceKeeper(tmp_path, said.append)
    outcome = an_outcome(checks=(FAILED,), plans=(a_plan(),))

    keeper.scenario_finished(outcome, a_material(tmp_path / "audit.log"))

    folder = tmp_path / "failed" / "paper-figure-1" / "round-1"
    assert {path.name for path in folder.iterdir()} == {
        "audit.jsonl",
        "deterministic-scheduler.log",
        "events.txt",
        "nodes.txt",
        "plans.yaml",
        "pods.txt",
        "what-failed.txt",
    }
    assert "placed: expected 3, got 2" in (folder / "what-failed.txt").read_text()
    assert "plan-1: Completed" in (folder / "what-failed.txt").read_text()
    assert str(folder) in said[0]


def test_a_success_leaves_no_evidence(tmp_path: Path) -> None:
    """A folder of evidence must mean that something failed."""
    keeper = EvidenceKeeper(tmp_path, print)

    keeper.scenario_finished(an_outcome(), a_material(tmp_path / "audit.log"))

    assert list(tmp_path.iterdir()) == []
