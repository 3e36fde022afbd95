"""The results bundle and the evidence of failures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from outcomes import (
    FAILED,
    a_material,
    a_plan,
    a_run,
    a_stepped_outcome,
    an_outcome,
)

from stowage_testbed.report.bundle import Bundle
from stowage_testbed.report.evidence import EvidenceWriter
from stowage_testbed.scenario.steps.arriving import Replay


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
    before, after = entry["checkpoints"]
    assert before["placements"] == {"a": ["n1"], "b": ["n2"]}
    assert after["placements"] == {"a": ["n1"], "b": ["n1"]}
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
    """The cluster is gone by the time anyone asks why.

    A folder of evidence means that something failed; what the scenario itself catches
    is in it, as its author knows what explains a failure.
    """
    said: list[str] = []
    writer = EvidenceWriter(tmp_path, said.append)
    material = a_material(tmp_path / "audit.log")
    writer.scenario_finished(an_outcome(), material)
    assert list(tmp_path.iterdir()) == []

    writer.scenario_finished(an_outcome(checks=(FAILED,), plans=(a_plan(),)), material)
    writer.scenario_finished(
        a_stepped_outcome(error="step 1", evidence={"web.txt": "kind: Deployment\n"}),
        material,
    )

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
    caught = tmp_path / "failed" / "burst-small" / "round-1" / "caught"
    assert (caught / "web.txt").read_text() == "kind: Deployment\n"


def test_the_evidence_has_all_that_nodes_have(tmp_path: Path) -> None:
    """The GPUs, too: they may be what a pod waited for."""
    offers = {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "2", "pods": "10"}
    node = {"metadata": {"name": "n1"}, "status": {"allocatable": offers}}
    material = replace(a_material(tmp_path / "audit.log"), bodies={"Node": [node]})

    writer = EvidenceWriter(tmp_path, lambda _line: None)
    writer.scenario_finished(an_outcome(checks=(FAILED,)), material)

    (file,) = tmp_path.rglob("nodes.txt")
    assert "cpu 4, memory 8Gi, nvidia.com/gpu 2, pods 10" in file.read_text()


def test_a_bundle_shows_the_steps_and_the_window(tmp_path: Path) -> None:
    """Metrics are made of the events between its two moments."""
    outcome = a_stepped_outcome(facts={"pods": 2})
    bundle = Bundle(tmp_path / "results", "run-1", {})

    bundle.scenario_finished(outcome, a_material(tmp_path / "audit.log"))

    folder = bundle.folder / "burst-small" / "round-1"
    document = json.loads((folder / "outcome.json").read_text())
    (end,) = document["checkpoints"]
    assert (end["name"], end["placements"]) == ("end", {"web": ["n1"]})
    (step,) = document["steps"]
    assert step == {
        "number": 1,
        "kind": "burst",
        "line": 12,
        "what": "create 2 pods like web's without controller, all as fast as the API "
        "server takes them; they run until they are deleted",
        "duration_s": 0.5,
        "facts": {"pods": 2},
        "error": "",
    }
    assert document["window"]["length_s"] == 2.0
    assert document["metrics"] == []


def test_a_bundle_holds_the_traces_that_were_replayed(tmp_path: Path) -> None:
    """Without its arrivals a run cannot be repeated."""
    folder = tmp_path / "burst"
    folder.mkdir()
    (folder / "trace.csv").write_text("arrival_s,owner,cpu,memory\n1,web,1,1G\n")
    path = folder / "small.yaml"
    path.write_text("name: burst/small\n")
    outcome = a_stepped_outcome(path=path)
    step = replace(outcome.scenario.steps[0], action=Replay("trace.csv", ()))
    scenario = replace(outcome.scenario, steps=(step,))
    bundle = Bundle(tmp_path / "results", "run-1", {})

    bundle.scenario_finished(
        replace(outcome, scenario=scenario), a_material(tmp_path / "audit.log")
    )

    kept = bundle.folder / "burst-small" / "round-1" / "trace.csv"
    assert kept.read_text() == (folder / "trace.csv").read_text()
