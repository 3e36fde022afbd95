"""What is kept of a try that failed: changes, audit log, what the release said."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from stowage_testbed.faults.evaluation import Seen
from stowage_testbed.faults.trial import Trial


def keep_evidence(
    results: Path, trial: Trial, seen: Seen, audit_lines: Iterable[bytes]
) -> Path:
    """Write the evidence into a folder of its own, and return the folder."""
    name = f"{trial.scenario.replace('/', '-')}-{trial.seed}-{trial.number}"
    folder = results / "failed" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trial.json").write_text(json.dumps(trial.document(), indent=1), "utf-8")
    with (folder / "changes.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(change.record()) + "\n" for change in seen.changes)
    with (folder / "audit.jsonl").open("wb") as file:
        file.writelines(audit_lines)
    for container, log in seen.release.log_files().items():
        if log.is_file():
            shutil.copyfile(log, folder / f"{container}.log")
    return folder
