"""What is wrong with a GitHub workflow, or with an action of our own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
VERSION_BESIDE = re.compile(r"@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
MAKE = re.compile(r"make (?P<target>[a-z0-9-]+)( [A-Z]+=(\"\$[A-Z_]+\"|[\w-]+))*")
SCRIPT = re.compile(
    r"(?P<quote>\"\$GITHUB_ACTION_PATH/)?(?P<path>ci/[\w.-]+)(?(quote)\")"
    r"( [\w./*=-]+| \"[\w./*-]*(\$[A-Z_]+[\w./*-]*)+\")*"
)
UNTRUSTED = {"pull_request_target", "workflow_run", "issue_comment"}
"""Events that run with rights to the repository on what a stranger wrote."""

Document = Mapping[Any, Any]


@dataclass(frozen=True, slots=True)
class Repository:
    """What workflows may call: the targets of the Makefile, and executable scripts."""

    root: Path

    @property
    def targets(self) -> frozenset[str]:
        """The targets of the Makefile."""
        makefile = (self.root / "Makefile").read_text(encoding="utf-8")
        return frozenset(re.findall(r"^([a-z0-9-]+):(?!=)", makefile, re.MULTILINE))

    def runs(self, script: str) -> bool:
        """Return whether a script is there and can be executed."""
        path = self.root / script
        return path.is_file() and os.access(path, os.X_OK)

    def has_action(self, folder: str) -> bool:
        """Return whether an action of our own is there."""
        return (self.root / folder / "action.yml").is_file()


def workflow_issues(text: str, repository: Repository) -> list[str]:
    """Return what a workflow promises and does not keep."""
    workflow: Document = yaml.safe_load(text)
    return [*_of_workflow(workflow, repository), *_of_lines(text)]


def action_issues(text: str, repository: Repository) -> list[str]:
    """Return the same of a composite action."""
    action: Document = yaml.safe_load(text)
    found = [
        f"input {name}: lacks {what}"
        for name, entry in action.get("inputs", {}).items()
        for what in ("description", "default")
        if what not in entry
    ]
    for step in action["runs"]["steps"]:
        found += _of_step(step, repository)
    return [*found, *_of_lines(text)]


def _of_workflow(workflow: Document, repository: Repository) -> Iterator[str]:
    # To YAML 1.1 the word `on` is a truth value.
    events = workflow[True]
    yield from (f"is triggered by {event}" for event in UNTRUSTED & set(events))
    if workflow.get("permissions") != {}:
        yield "does not begin without permissions"
    for name, job in workflow["jobs"].items():
        for wanted in ("timeout-minutes", "permissions"):
            if wanted not in job:
                yield f"job {name}: lacks {wanted}"
        if job.get("permissions") in ("read-all", "write-all"):
            yield f"job {name}: has all permissions"
        for step in job["steps"]:
            yield from (f"job {name}: {it}" for it in _of_step(step, repository))


def _of_step(step: Document, repository: Repository) -> Iterator[str]:
    if "run" in step:
        yield from _of_run(step["run"], repository)
    else:
        yield from _of_uses(step["uses"], step.get("with") or {}, repository)


def _of_run(run: str, repository: Repository) -> Iterator[str]:
    made, called = MAKE.fullmatch(run), SCRIPT.fullmatch(run)
    if made is not None:
        if made["target"] not in repository.targets:
            yield f"run: {run}: the Makefile has no such target"
    elif called is not None:
        if not repository.runs(called["path"]):
            yield f"run: {run}: there is no such script, or it is not executable"
    else:
        yield f"run: {run}: is neither a make target nor one script of ci/"


def _of_uses(uses: str, given: Document, repository: Repository) -> Iterator[str]:
    if uses.startswith("$/"):
        if not repository.has_action(uses.removeprefix("$/")):
            yield f"uses: {uses}: there is no action.yml"
    elif PINNED.fullmatch(uses) is None:
        yield f"uses: {uses}: is not pinned to a commit"
    if uses.startswith("actions/checkout@") and given.get("persist-credentials", True):
        yield "checkout leaves its credentials behind"


def _of_lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if re.search(r"uses: .*@", line) and not VERSION_BESIDE.search(line):
            yield f"{line.strip()}: does not say which version it is"
