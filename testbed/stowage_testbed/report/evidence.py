"""The evidence of a failure: all that is needed to understand it, in one folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import yaml
from tabulate import tabulate

from stowage_testbed.observe.audit import AuditLogMissingError, AuditReader
from stowage_testbed.observe.change import JsonObject, write_event_table
from stowage_testbed.observe.pod import allocatable_of, read_pod
from stowage_testbed.report.bundle import name_scenario_folder
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.material import Material
from stowage_testbed.run.outcome import ScenarioOutcome


def write_evidence(folder: Path, outcome: ScenarioOutcome, material: Material) -> Path:
    """Write the evidence of a failed scenario and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    failures = [
        f"{outcome.scenario_id}, round {outcome.repeat}",
        *([f"error: {outcome.error}"] if outcome.error else []),
        *outcome.failures,
        *(plan.in_words() for plan in outcome.plans),
    ]
    _write(folder / "what-failed.txt", "\n".join(failures) + "\n")
    _write(folder / "pods.txt", _list_pods(material.bodies.get("Pod", [])))
    _write(folder / "nodes.txt", _list_nodes(material.bodies.get("Node", [])))
    _write(folder / "events.txt", write_event_table(material.bodies.get("Event", [])))
    plans = material.bodies.get("PackingPlan", [])
    _write(folder / "plans.yaml", yaml.safe_dump_all([dict(plan) for plan in plans]))
    for name, text in material.log_texts.items():
        _write(folder / f"{name}.log", text)
    _write_audit(folder / "audit.jsonl", material)
    if outcome.evidence:
        caught = folder / "caught"
        caught.mkdir(exist_ok=True)
        for name, text in outcome.evidence.items():
            _write(caught / name, text)
    return folder


def _list_pods(bodies: Iterable[JsonObject]) -> str:
    pods = sorted((read_pod(body) for body in bodies), key=lambda pod: pod.key)
    rows = [
        [
            pod.name,
            pod.workload,
            pod.priority,
            "Terminating" if pod.terminating else pod.phase,
            pod.node or "-",
            f"{pod.waiting_reason} {pod.waiting_message}".strip(),
        ]
        for pod in pods
    ]
    return _make_table(("pod", "workload", "priority", "phase", "node", "waits for"), rows)


def _list_nodes(bodies: Iterable[JsonObject]) -> str:
    rows = [
        [
            body["metadata"]["name"],
            _show_ready(body),
            str(allocatable_of(body)),
            ", ".join(f"{taint['key']}:{taint['effect']}" for taint in body.get("spec", {}).get("taints") or []),
        ]
        for body in sorted(bodies, key=lambda body: str(body["metadata"]["name"]))
    ]
    return _make_table(("node", "ready", "has", "taints"), rows)


def _show_ready(body: JsonObject) -> str:
    for condition in body["status"].get("conditions") or []:
        if condition["type"] == "Ready":
            return str(condition["status"])
    return "Unknown"


def _write_audit(path: Path, material: Material) -> None:
    log = AuditReader(material.audit_log, material.audit_start)
    try:
        with path.open("wb") as file:
            file.writelines(log.lines())
    except AuditLogMissingError as error:
        _write(path, json.dumps({"error": str(error)}) + "\n")


def _make_table(headers: tuple[str, ...], rows: list[list[object]]) -> str:
    table = tabulate(rows, headers=headers, tablefmt="plain", disable_numparse=True)
    return table + "\n"


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


FAILED = "failed"
"""The folder of all evidence inside the run's folder."""


class EvidenceWriter(Listener):
    """Listens for failures.

    Parameters
    ----------
    folder
        The run's folder; evidence goes into `FAILED` below it.
    say
        Takes the line that names the folder.
    """

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self._folder = folder / FAILED
        self._say = say

    def scenario_finished(self, outcome: ScenarioOutcome, material: Material) -> None:
        """Write the evidence if the scenario failed."""
        if outcome.passed:
            return
        folder = write_evidence(self._folder / name_scenario_folder(outcome), outcome, material)
        self._say(f"{outcome.scenario_id} failed; its evidence is in {folder}")
