"""The results bundle: a folder from which every table can be made again."""

import hashlib
import json
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import yaml

from stowage_testbed.observe.audit import AuditLogMissingError, AuditReader
from stowage_testbed.observe.change import write_event_table
from stowage_testbed.observe.device_claims import Claim
from stowage_testbed.observe.device_pool import read_slice
from stowage_testbed.observe.node import read_node, ready_of
from stowage_testbed.observe.pod import read_pod
from stowage_testbed.observe.raw_body import decode
from stowage_testbed.run.listener import Listener, RunRecorder
from stowage_testbed.run.outcome import RUN_FILE, RunOutcome, ScenarioOutcome, ScenarioResult, find_divergences
from stowage_testbed.scenario.steps.replaying import list_replayed_files
from stowage_testbed.text.tables import plain_table

EVENTS_FILE = "events.jsonl"

EVIDENCE = "failed"
"""The folder of all evidence inside the run's folder."""


class Bundle(Listener):
    """Writes a run's folder while the run goes on, and passes everything on: what was had is never lost."""

    def __init__(self, results: Path, run_id: str, environment: Mapping[str, Any], *listeners: Listener) -> None:
        super().__init__(*listeners)
        self.results, self.run_id, self.environment = results, run_id, environment
        self.folder = results / run_id
        self.started = datetime.now(tz=UTC).isoformat(timespec="seconds")

    def run_started(self, run_id: str, total: int) -> None:
        """Make the run's folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        super().run_started(run_id, total)

    def scenario_finished(self, outcome: ScenarioOutcome, records: RunRecorder) -> None:
        """Write the scenario's outcome and its records, and what may explain why it failed."""
        folder = self.folder / name_scenario_folder(outcome)
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "outcome.json", outcome.document())
        with (folder / EVENTS_FILE).open("wb") as file:
            for change in records.changes():
                file.write(msgspec.json.encode(change.record()) + b"\n")
        if outcome.source.path is not None:
            shutil.copyfile(outcome.source.path, folder / "scenario.yaml")
            for name in list_replayed_files(outcome.source.steps):
                source = outcome.source.path.parent / name
                shutil.copyfile(source, folder / source.name)
        for profile, values in records.values.items():
            (folder / f"values-{profile}.yaml").write_text(yaml.safe_dump(dict(values)), encoding="utf-8")
        for profile, config in records.scheduler_configs.items():
            (folder / f"scheduler-{profile}.yaml").write_text(config, encoding="utf-8")
        if not outcome.passed:
            evidence = self.folder / EVIDENCE / name_scenario_folder(outcome)
            write_evidence(evidence, outcome, records)
            self.say(f"{outcome.scenario_id} failed; its evidence is in {evidence}")
        super().scenario_finished(outcome, records)

    def sum_up(self, cluster: str, scenarios: Iterable[ScenarioOutcome], **more: Any) -> RunOutcome:
        """Return the outcome of the run, with further fields that are known."""
        outcomes = tuple(scenarios)
        return RunOutcome(
            run=self.run_id,
            started=self.started,
            cluster=cluster,
            scenarios=outcomes,
            divergences=find_divergences(outcomes),
            **more,
        )

    def finish(self, outcome: RunOutcome) -> RunOutcome:
        """Write the run's document, tell of the end, and return the outcome as it was written, environment included."""
        hashes: dict[str, str] = {}
        for one in outcome.scenarios:
            folder, names = self.folder / name_scenario_folder(one), []
            # The files that the figures depend on are read from there: another process may have written them.
            if (folder / "scenario.yaml").is_file():
                names = ["scenario.yaml", *list_replayed_files(one.source.steps)]
            names += [file.name for kind in ("values", "scheduler") for file in sorted(folder.glob(f"{kind}-*.yaml"))]
            for name in names:
                content = (folder / Path(name).name).read_bytes()
                hashes[f"{one.scenario_id}: {name.removesuffix('.yaml')}"] = hashlib.sha256(content).hexdigest()
        environment = {**self.environment, "config_hashes": hashes}
        outcome = replace(outcome, environment=environment)
        write_json(self.folder / RUN_FILE, outcome.document())
        self.run_finished(outcome)
        return outcome


def name_scenario_folder(outcome: ScenarioResult) -> Path:
    """Return a scenario run's folder inside the run's folder."""
    name = outcome.scenario_id.replace("/", "-").replace("@", "-")
    return Path(name) / f"round-{outcome.repeat}"


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a JSON document that a person can read too."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def _list_devices(records: RunRecorder) -> Iterator[list[str]]:
    """Yield the devices of all slices with who holds them, and those that are held although no slice has them."""
    holders: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for claim in (decode(body, Claim) for body in records.bodies("ResourceClaim")):
        pods = ", ".join(one.name for one in claim.status.reserved_for) or "no pod"
        for one in claim.allocated():
            amounts = one.in_words().removeprefix(one.device)
            holders[one.driver, one.pool, one.device].append(f"{pods} by {claim.metadata.name}{amounts}")
    specs = [read_slice(body).spec for body in records.bodies("ResourceSlice")]
    for spec in sorted(specs, key=lambda spec: (spec.node_name, spec.driver, spec.pool.name)):
        for device in spec.devices:
            held = holders.pop((spec.driver, spec.pool.name, device.name), [])
            taints = ", ".join(f"{taint['key']}:{taint['effect']}" for taint in device.taints)
            pool = f"{spec.driver}/{spec.pool.name}"
            yield [spec.node_name or device.node_name or "-", pool, device.name, "; ".join(held) or "-", taints]
    for (driver, pool_name, name), held in sorted(holders.items()):
        yield ["in no slice", f"{driver}/{pool_name}", name, "; ".join(held), ""]


def write_evidence(folder: Path, outcome: ScenarioOutcome, records: RunRecorder) -> None:
    """Write what may explain why a scenario failed."""
    failures = [
        f"{outcome.scenario_id}, round {outcome.repeat}",
        *([f"error: {outcome.error}"] if outcome.error else []),
        *outcome.failures,
        *(plan.in_words() for plan in outcome.plans),
    ]
    pods = [
        [
            pod.name,
            pod.workload,
            pod.priority,
            "Terminating" if pod.terminating else pod.phase,
            pod.node or "-",
            f"{pod.waiting_reason} {pod.waiting_message}".strip(),
        ]
        for pod in sorted(map(read_pod, records.bodies("Pod")), key=lambda pod: pod.key)
    ]
    nodes = [
        [
            body["metadata"]["name"],
            ready_of(body),
            str(read_node(body).room),
            ", ".join(f"{taint['key']}:{taint['effect']}" for taint in body.get("spec", {}).get("taints") or []),
        ]
        for body in sorted(records.bodies("Node"), key=lambda body: str(body["metadata"]["name"]))
    ]
    devices = list(_list_devices(records))
    of_devices = {"devices.txt": plain_table(("node", "pool", "device", "held by", "taints"), devices) + "\n"}
    texts = {
        "what-failed.txt": "\n".join(failures) + "\n",
        "pods.txt": plain_table(("pod", "workload", "priority", "phase", "node", "waits for"), pods) + "\n",
        "nodes.txt": plain_table(("node", "ready", "has", "taints"), nodes) + "\n",
        **(of_devices if devices else {}),
        "events.txt": write_event_table(records.bodies("Event")),
        "plans.yaml": yaml.safe_dump_all([dict(plan) for plan in records.bodies("PackingPlan")]),
        **{f"{name}.log": text for name, text in records.log_texts().items()},
        **{f"caught/{name}": text for name, text in outcome.evidence.items()},
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    with (folder / "audit.jsonl").open("wb") as file:
        try:
            file.writelines(AuditReader(records.audit_log, records.audit_start).lines())
        except AuditLogMissingError as error:
            file.write(json.dumps({"error": str(error)}).encode() + b"\n")
