"""What CI does, a person can do by hand; and what it may do is little.

Pins, triggers, credentials and too many permissions are zizmor's, in `ci/lint`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTIONS = sorted([ROOT / "action.yml", *ROOT.glob(".github/actions/*/action.yml")])
VERSION_BESIDE = re.compile(r"@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
MAKE = re.compile(
    r"make (?P<target>[a-z0-9-]+)( KINDS=(?P<kinds>\w+))?"
    r"( [A-Z]+=(\"\$[A-Z_]+\"|[\w-]+))*"
)
SCRIPT = re.compile(
    r"(?P<quote>\"\$GITHUB_ACTION_PATH/)?(?P<path>ci/[\w.-]+)(?(quote)\")"
    r"( [\w./*=-]+| \"[\w./*-]*(\$[A-Z_]+[\w./*-]*)+\")*"
)
TARGETS = re.findall(
    r"^([a-z0-9-]+):(?!=)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE
)
Document = Mapping[Any, Any]


def workflow_issues(text: str) -> list[str]:
    """Return what a workflow promises and does not keep."""
    workflow: Document = yaml.safe_load(text)
    return [*_of_workflow(workflow), *_of_lines(text)]


def action_issues(text: str) -> list[str]:
    """Return the same of a composite action."""
    action: Document = yaml.safe_load(text)
    found = [
        f"input {name}: lacks {what}"
        for name, entry in action.get("inputs", {}).items()
        for what in ("description", "default")
        if what not in entry
    ]
    for step in action["runs"]["steps"]:
        found += _of_step(step)
    return [*found, *_of_lines(text)]


def _of_workflow(workflow: Document) -> Iterator[str]:
    if workflow.get("permissions") != {}:
        yield "does not begin without permissions"
    for name, job in workflow["jobs"].items():
        if "permissions" not in job:
            yield f"job {name}: lacks permissions"
        # The jobs of a workflow that is called have time limits of their own.
        called = job.get("uses")
        if called is None and "timeout-minutes" not in job:
            yield f"job {name}: lacks timeout-minutes"
        if called is not None and not (ROOT / called[2:]).is_file():
            yield f"job {name}: there is no workflow {called} here"
        for step in job.get("steps", ()):
            yield from (f"job {name}: {it}" for it in _of_step(step))


def _of_step(step: Document) -> Iterator[str]:
    if "run" in step:
        yield from _of_run(step["run"])
    else:
        uses = step["uses"]
        if uses.startswith("$/") and not (ROOT / uses[2:] / "action.yml").is_file():
            yield f"uses: {uses}: there is no action.yml"


def _of_run(run: str) -> Iterator[str]:
    made, called = MAKE.fullmatch(run), SCRIPT.fullmatch(run)
    if made is not None:
        if made["target"] not in TARGETS:
            yield f"run: {run}: the Makefile has no such target"
    elif called is not None:
        if not os.access(ROOT / called["path"], os.X_OK):
            yield f"run: {run}: there is no such script, or it is not executable"
    else:
        yield f"run: {run}: is neither a make target nor one script of ci/"


def _of_lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if re.search(r"uses: .*@", line) and not VERSION_BESIDE.search(line):
            yield f"{line.strip()}: does not say which version it is"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_keeps_the_promises(path: Path) -> None:
    """What only CI can run is debugged by pushing; what is not pinned can change."""
    assert workflow_issues(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", ACTIONS, ids=lambda path: path.parent.name)
def test_an_action_keeps_the_promises(path: Path) -> None:
    """It runs in the repositories of others, with their rights."""
    assert action_issues(path.read_text(encoding="utf-8")) == []


def test_the_workflows_are_there() -> None:
    """A renamed folder would leave nothing to check, and all tests green."""
    names = {"ci", "e2e", "nightly", "pages", "release"}
    assert {path.stem for path in WORKFLOWS} == names
    assert len(ACTIONS) == 2


def test_a_release_takes_nothing_from_a_cache() -> None:
    """Whoever can write to a cache could otherwise write to a release."""
    for name in ("release", "pages"):
        text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text()

        assert "actions/cache" not in text
        assert "prepare" not in text
        for job in yaml.safe_load(text)["jobs"].values():
            for step in job.get("steps", ()):
                if step.get("uses", "").startswith("actions/setup-go@"):
                    assert step["with"]["cache"] is False


def test_one_workflow_alone_publishes_pages() -> None:
    """A publication replaces the whole site, so that two would undo each other."""
    publishing = {
        path.stem for path in WORKFLOWS if "deploy-pages@" in path.read_text()
    }
    calling = {path.stem for path in WORKFLOWS if "/pages.yml\n" in path.read_text()}

    assert publishing == {"pages"}
    assert calling == {"nightly", "release"}


def test_what_is_checked_before_a_commit_is_checked_by_ci() -> None:
    """Whoever passes the one must not be surprised by the other."""
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    called = [MAKE.fullmatch(h["entry"]) for r in config["repos"] for h in r["hooks"]]
    ci = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    kinds = set(re.findall(r"^check (\w+) ", (ROOT / "ci" / "lint").read_text(), re.M))

    assert [one for one in called if one and f"make {one['target']}\n" not in ci] == []
    assert {one["kinds"] for one in called if one and one["kinds"]} == kinds
