"""What CI does, a person can do by hand; and what it may do is little.

Pins, triggers, credentials and too many permissions are zizmor's, in `ci/lint`.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
Document = Mapping[Any, Any]

COMMIT = "0a" * 20
PIN = f"{COMMIT} # v1.2.3"

GOOD = f"""
permissions: {{}}
jobs:
  one:
    timeout-minutes: 5
    permissions: {{contents: read}}
    steps:
      - uses: actions/checkout@{PIN}
      - uses: $/.github/actions/prepare
      - run: make e2e BACKEND="$BACKEND"
      - run: ci/script "$SHARD/$SHARDS" results/a-1
  two:
    permissions: {{pages: write}}
    uses: $/.github/workflows/called.yml
"""

GOOD_ACTION = f"""
inputs:
  scenario: {{description: Which., default: ""}}
runs:
  steps:
    - uses: actions/cache@{PIN}
    - run: '"$GITHUB_ACTION_PATH/ci/script" "$SCENARIO"'
"""


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

    def has_workflow(self, path: str) -> bool:
        """Return whether a workflow of our own is there."""
        return path.startswith("$/") and (self.root / path[2:]).is_file()

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
    if workflow.get("permissions") != {}:
        yield "does not begin without permissions"
    for name, job in workflow["jobs"].items():
        if "permissions" not in job:
            yield f"job {name}: lacks permissions"
        # The jobs of a workflow that is called have time limits of their own.
        called = job.get("uses")
        if called is None and "timeout-minutes" not in job:
            yield f"job {name}: lacks timeout-minutes"
        if called is not None and not repository.has_workflow(called):
            yield f"job {name}: there is no workflow {called} here"
        for step in job.get("steps", ()):
            yield from (f"job {name}: {it}" for it in _of_step(step, repository))


def _of_step(step: Document, repository: Repository) -> Iterator[str]:
    if "run" in step:
        yield from _of_run(step["run"], repository)
    else:
        uses = step["uses"]
        if uses.startswith("$/") and not repository.has_action(uses[2:]):
            yield f"uses: {uses}: there is no action.yml"


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


def _of_lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if re.search(r"uses: .*@", line) and not VERSION_BESIDE.search(line):
            yield f"{line.strip()}: does not say which version it is"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Return a repository with one target, one script and one action."""
    root = tmp_path_factory.mktemp("repository")
    (root / "Makefile").write_text("NAME := x\n\n.PHONY: e2e\ne2e: setup ## Run.\n")
    (root / "ci").mkdir()
    for name, mode in (("script", 0o755), ("plain", 0o644)):
        (root / "ci" / name).write_text("#!/bin/sh\n")
        (root / "ci" / name).chmod(mode)
    (root / ".github" / "actions" / "prepare").mkdir(parents=True)
    (root / ".github" / "actions" / "prepare" / "action.yml").write_text("name: x\n")
    (root / ".github" / "workflows").mkdir()
    (root / ".github" / "workflows" / "called.yml").write_text("name: x\n")
    return Repository(root)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_keeps_the_promises(path: Path) -> None:
    """What only CI can run is debugged by pushing; what is not pinned can change."""
    assert workflow_issues(path.read_text(encoding="utf-8"), Repository(ROOT)) == []


@pytest.mark.parametrize("path", ACTIONS, ids=lambda path: path.parent.name)
def test_an_action_keeps_the_promises(path: Path) -> None:
    """It runs in the repositories of others, with their rights."""
    assert action_issues(path.read_text(encoding="utf-8"), Repository(ROOT)) == []


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


def test_scripts_of_ci_can_be_called_by_hand() -> None:
    """A script without the mark of a program cannot."""
    scripts = [
        path
        for path in (ROOT / "ci").iterdir()
        if path.is_file() and path.read_bytes().startswith(b"#!")
    ]

    assert scripts
    assert [p.name for p in scripts if not p.stat().st_mode & stat.S_IXUSR] == []


def test_a_good_workflow_has_no_issue(repository: Repository) -> None:
    """The broken ones below differ from it by one thing each."""
    assert workflow_issues(GOOD, repository) == []
    assert action_issues(GOOD_ACTION, repository) == []


CHECKED = {
    "workflow": (GOOD, workflow_issues),
    "action": (GOOD_ACTION, action_issues),
}
BROKEN = [
    ("make e2e BACKEND", "make other BACKEND", "no such target"),
    ("make e2e BACKEND", "make NAME BACKEND", "neither a make target"),
    ('"$BACKEND"', "${{ matrix.backend }}", "neither a make target"),
    ("run: ci/script", "run: ci/absent", "no such script"),
    ("run: ci/script", "run: ci/plain", "not executable"),
    ("run: ci/script", "run: echo hello; ci/script", "neither a make target"),
    ('"$SHARD/$SHARDS"', "$(whoami)", "neither a make target"),
    ("results/a-1", "results/a-1 && curl x", "neither a make target"),
    ('"$SHARD/$SHARDS"', "$SHARD", "neither a make target"),
    (PIN, COMMIT, "which version"),
    ("$/.github/actions/prepare", "$/.github/actions/other", "no action.yml"),
    ("    timeout-minutes: 5\n", "", "lacks timeout-minutes"),
    ("    permissions: {pages: write}\n", "", "lacks permissions"),
    ("workflows/called.yml", "workflows/other.yml", "no workflow"),
    ("    permissions: {contents: read}\n", "", "lacks permissions"),
    ("permissions: {}\n", "", "without permissions"),
    ("permissions: {}\n", "permissions: {contents: write}\n", "without"),
]
BROKEN_ACTIONS = [
    ('"$SCENARIO"', "${{ inputs.scenario }}", "neither a make target"),
    ("description: Which., ", "", "lacks description"),
    (', default: ""', "", "lacks default"),
    ("ci/script", "ci/absent", "no such script"),
    ('"$GITHUB_ACTION_PATH/ci/script"', "$GITHUB_ACTION_PATH/ci/script", "neither"),
]


@pytest.mark.parametrize(
    ("kind", "good", "bad", "said"),
    [
        *(("workflow", *one) for one in BROKEN),
        *(("action", *one) for one in BROKEN_ACTIONS),
    ],
)
def test_a_broken_promise_is_found(
    repository: Repository, kind: str, good: str, bad: str, said: str
) -> None:
    """A check that cannot fail checks nothing.

    An input in a script's text is a way to run what its author likes.
    """
    whole, issues = CHECKED[kind]
    assert good in whole

    found = issues(whole.replace(good, bad, 1), repository)

    assert [issue for issue in found if said in issue] != []
