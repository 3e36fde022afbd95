"""The results bundle: a folder from which every table can be made again."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import yaml

from stowage_testbed.run.listener import Listener
from stowage_testbed.run.material import Material
from stowage_testbed.run.outcome import RUN_FILE, RunOutcome, ScenarioOutcome, ScenarioResult
from stowage_testbed.scenario.steps.kinds import list_replayed_files

EVENTS_FILE = "events.jsonl"


class Bundle(Listener):
    """Writes a run's folder while the run goes on: what was had is never lost.

    Parameters
    ----------
    results
        Folder that holds the runs' folders.
    run_id
        Name of this run's folder.
    environment
        Versions and machine, as in `stowage_testbed.toolchain.environment.environment`.
    """

    def __init__(self, results: Path, run_id: str, environment: Mapping[str, Any]) -> None:
        self.folder = results / run_id
        self._environment = environment

    def run_started(self, run_id: str, total: int) -> None:
        """Make the run's folder."""
        self.folder.mkdir(parents=True, exist_ok=True)

    def scenario_finished(self, outcome: ScenarioOutcome, material: Material) -> None:
        """Write the scenario's outcome and its records."""
        folder = self.folder / name_scenario_folder(outcome)
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "outcome.json", outcome.document())
        with (folder / EVENTS_FILE).open("wb") as file:
            for change in material.changes:
                file.write(msgspec.json.encode(change.record()) + b"\n")
        if outcome.source.path is not None:
            shutil.copyfile(outcome.source.path, folder / "scenario.yaml")
            for name in list_replayed_files(outcome.source.steps):
                source = outcome.source.path.parent / name
                shutil.copyfile(source, folder / source.name)
        texts = {f"values-{profile}": yaml.safe_dump(dict(values)) for profile, values in material.values.items()}
        for profile, config in material.scheduler_config.items():
            texts[f"scheduler-{profile}"] = config
        for name, text in texts.items():
            (folder / f"{name}.yaml").write_text(text, encoding="utf-8")

    def run_finished(self, outcome: RunOutcome) -> None:
        """Write the run's document."""
        hashes: dict[str, str] = {}
        for one in outcome.scenarios:
            folder = self.folder / name_scenario_folder(one)
            for name in _list_configs(folder, one):
                what = f"{one.scenario_id}: {name.removesuffix('.yaml')}"
                content = (folder / Path(name).name).read_bytes()
                hashes[what] = hashlib.sha256(content).hexdigest()
        environment = {**self._environment, "config_hashes": hashes}
        write_json(self.folder / RUN_FILE, replace(outcome, environment=environment).document())


def _list_configs(folder: Path, outcome: ScenarioOutcome) -> Iterator[str]:
    """Yield what the run's figures depend on, as files that its folder holds.

    They are read from there: another process may have written them.
    """
    if (folder / "scenario.yaml").is_file():
        yield "scenario.yaml"
        yield from list_replayed_files(outcome.source.steps)
    for kind in ("values", "scheduler"):
        yield from sorted(one.name for one in folder.glob(f"{kind}-*.yaml"))


def name_scenario_folder(outcome: ScenarioResult) -> Path:
    """Return a scenario run's folder inside the run's folder."""
    return name_round_folder(outcome.scenario_id, outcome.repeat)


def name_round_folder(scenario_id: str, repeat: int) -> Path:
    """Return the folder of one round of a scenario inside the run's folder."""
    name = scenario_id.replace("/", "-").replace("@", "-")
    return Path(name) / f"round-{repeat}"


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a JSON document that a person can read too."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
