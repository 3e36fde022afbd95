"""The results bundle and the evidence of failures."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from amounts import GPU
from outcomes import FAILED, a_plan, a_run, a_stepped_outcome, an_outcome, some_records
from rich.console import Console

from stowage_testbed.cluster.devices import Devices, DeviceTaint, make_pool
from stowage_testbed.report.bundle import Bundle
from stowage_testbed.report.showing import draw_comparison, write_page
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.outcome import ScenarioOutcome
from stowage_testbed.scenario.steps.replaying import Replay


def test_a_bundle_holds_what_rebuilds_the_tables(tmp_path: Path) -> None:
    """Months later there is no cluster any more, only this folder."""
    scenario = tmp_path / "figure-1.yaml"
    scenario.write_text("name: paper/figure-1\n")
    outcome = an_outcome(after={"a": ["n1"], "b": ["n1"]}, path=scenario)
    bundle = Bundle(tmp_path / "results", "run-1", {"tools": {"etcd": "3.6.8"}})

    bundle.run_started("run-1", 1)
    bundle.scenario_finished(outcome, some_records(tmp_path / "audit.log"))
    finished = bundle.finish(a_run(outcome))

    document = json.loads((bundle.folder / "run.json").read_text())
    # `stowage run --json` and the tables are of what this returns.
    assert document == json.loads(json.dumps(finished.document()))
    (entry,) = document["scenarios"]
    assert [one["placements"] for one in entry["checkpoints"]] == [
        {"a": ["n1"], "b": ["n2"]},
        {"a": ["n1"], "b": ["n1"]},
    ]
    assert document["environment"]["tools"] == {"etcd": "3.6.8"}
    parts = ("scenario", "values-deterministic", "scheduler-deterministic")
    hashes = document["environment"]["config_hashes"]
    assert set(hashes) == {f"paper/figure-1: {part}" for part in parts}
    folder = bundle.folder / "paper-figure-1" / "round-1"
    assert {path.name for path in folder.iterdir()} == {
        "events.jsonl", "outcome.json", *(f"{part}.yaml" for part in parts)
    }  # fmt: skip


class Told(Listener):
    """Keeps what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


def test_a_failure_leaves_its_evidence_and_says_where(tmp_path: Path) -> None:
    """The cluster is gone by the time anyone asks why; nothing else leaves a folder."""
    offers = {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "2", "pods": "10"}
    node = {"metadata": {"name": "n1"}, "status": {"allocatable": offers}}
    records = some_records(tmp_path / "audit.log", Node=[node])
    told = Told()
    bundle = Bundle(tmp_path, "run-1", {}, told)
    bundle.scenario_finished(an_outcome(), records)
    assert not (bundle.folder / "failed").exists()

    bundle.scenario_finished(an_outcome(checks=(FAILED,), plans=(a_plan(),)), records)
    stepped = a_stepped_outcome(error="step 1", evidence={"web.txt": "kind: D\n"})
    bundle.scenario_finished(stepped, records)

    folder = bundle.folder / "failed" / "paper-figure-1" / "round-1"
    assert {path.name for path in folder.iterdir()} == {
        "audit.jsonl", "deterministic-scheduler.log", "events.txt", "nodes.txt",
        "plans.yaml", "pods.txt", "what-failed.txt",
    }  # fmt: skip
    failed = (folder / "what-failed.txt").read_text()
    assert "placed: expected 3, found 2" in failed
    assert "plan-1: Completed" in failed
    # GPUs may be what a pod waited for.
    has = "cpu 4, memory 8Gi, nvidia.com/gpu 2, pods 10"
    assert has in (folder / "nodes.txt").read_text()
    assert str(folder) in told.said[0]
    caught = bundle.folder / "failed" / "burst-small" / "round-1" / "caught"
    assert (caught / "web.txt").read_text() == "kind: D\n"


def test_a_failure_with_devices_tells_who_holds_them(tmp_path: Path) -> None:
    """Why a pod found none is in slices and claims, which nobody reads side by side."""
    taint = DeviceTaint(key="sick", effect="NoExecute")
    sets = [Devices(model="A100", count=1, memory="80Gi", shares=True), Devices(model="T4", count=1, taints=(taint,))]

    def claim(name: str, device: str, *pods: str, **amounts: str) -> dict[str, Any]:
        result = {"driver": "gpu.stowage.dev", "pool": "n1", "device": device, "consumedCapacity": amounts}
        status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [{"name": one} for one in pods]}
        return {"metadata": {"name": name, "namespace": "ns"}, "status": status}

    claims = [
        claim("some", "gpu-0", "web-1", memory="20Gi"),
        claim("more", "gpu-0", "web-2", "web-3", memory="5Gi"),
        claim("lost", "gpu-7", "web-4"),
    ]
    records = some_records(tmp_path / "audit.log", ResourceSlice=make_pool("n1", sets), ResourceClaim=claims)
    bundle = Bundle(tmp_path, "run-1", {})
    bundle.scenario_finished(an_outcome(checks=(FAILED,)), records)

    text = (bundle.folder / "failed" / "paper-figure-1" / "round-1" / "devices.txt").read_text()
    rows = [re.split(r" {2,}", line.strip()) for line in text.splitlines()]
    assert rows == [
        ["node", "pool", "device", "held by", "taints"],
        ["n1", "gpu.stowage.dev/n1", "gpu-0", "web-1 by some (memory 20Gi); web-2, web-3 by more (memory 5Gi)"],
        ["n1", "gpu.stowage.dev/n1", "gpu-1", "-", "sick:NoExecute"],
        ["in no slice", "gpu.stowage.dev/n1", "gpu-7", "web-4 by lost"],
    ]


def test_a_bundle_shows_steps_and_window_and_holds_the_trace(tmp_path: Path) -> None:
    """Metrics are made of the events between two moments, repeated from arrivals."""
    trace, path = tmp_path / "trace.jsonl", tmp_path / "small.yaml"
    trace.write_text("{}\n")
    path.write_text("name: burst/small\n")
    outcome = a_stepped_outcome(facts={"pods": 2}, path=path)
    replay = replace(outcome.source.steps[0], action=Replay("trace.jsonl"))
    replayed = replace(outcome, source=replace(outcome.source, steps=(replay,)))
    bundle = Bundle(tmp_path / "results", "run-1", {})

    bundle.scenario_finished(replayed, some_records(tmp_path / "audit.log"))

    folder = bundle.folder / "burst-small" / "round-1"
    assert (folder / "trace.jsonl").read_text() == trace.read_text()
    document = json.loads((folder / "outcome.json").read_text())
    (end,), (step,) = document["checkpoints"], document["steps"]
    assert (end["name"], end["placements"]) == ("end", {"web": ["n1"]})
    assert step.pop("what").startswith("burst: {workload: web, pods: 2")
    assert step == {
        "number": 1, "kind": "burst", "line": 12, "duration_s": 0.5,
        "facts": {"pods": 2}, "error": "",
    }  # fmt: skip
    assert (document["window"]["length_s"], document["metrics"]) == (2.0, [])


HOSTILE = "</script><img src=x onerror=alert(1)>"

OUTCOME = an_outcome(
    nodes={"a": ["n1", "n1"], HOSTILE: [""]}, after={"a": ["n2", ""], HOSTILE: ["n1"]}, plans=(a_plan(),)
)


def shown(outcome: ScenarioOutcome = OUTCOME) -> str:
    text = io.StringIO()
    Console(width=160, file=text).print(draw_comparison(outcome))
    return text.getvalue()


def shares(said: str, name: str) -> list[str]:
    lines = [line.split() for line in said.splitlines()]
    (found,) = [line for line in lines if line[:1] == [name]]
    return [word for word in found if "%" in word]


def test_a_nodes_load_is_shown_before_and_after() -> None:
    """One pod came, one went: the number of those that wait says nothing of it.

    Nor does a core that is free say anything of the GPUs beside it.
    """
    said = shown()
    gpus = shown(an_outcome(nodes={"a": ["n2"]}, after={"a": ["n2", "n2"]}, gpus=4))
    # Pods of 100 milli-cores on nodes of 1,000.
    assert shares(said, "n1") == ["20.0%", "10.0%"]
    assert shares(said, "n2") == ["0.0%", "10.0%"]
    assert "pods with a node: 2 before, 2 after; waiting: 1 before, 1 after" in said
    assert "pods that were moved: 1" in said
    assert shares(gpus, GPU) == ["25.0%", "50.0%"]
    assert f"{GPU} 25.0% before, 50.0% after" in gpus


def test_names_stay_text_on_the_page(tmp_path: Path) -> None:
    """A workload's name comes from a cluster, not ours to trust."""
    text = write_page(OUTCOME, tmp_path).read_text(encoding="utf-8")

    assert "<img" not in text
    assert "&lt;/script&gt;&lt;img" in text
    assert "default-src &#39;none&#39;" in text
