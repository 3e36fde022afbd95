"""What CI does, a person can do by hand; and what it may do is little."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
import yaml
from workflow_issues import Repository, action_issues, workflow_issues

ROOT = Path(__file__).parents[3]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTIONS = sorted([ROOT / "action.yml", *ROOT.glob(".github/actions/*/action.yml")])
COMMIT = "0a" * 20
PIN = f"{COMMIT} # v1.2.3"

GOOD = f"""
on: [push]
permissions: {{}}
jobs:
  one:
    timeout-minutes: 5
    permissions: {{contents: read}}
    steps:
      - uses: actions/checkout@{PIN}
        with: {{persist-credentials: false}}
      - uses: $/.github/actions/prepare
      - run: make e2e BACKEND="$BACKEND"
      - run: ci/script "$SHARD/$SHARDS" results/a-1
"""

GOOD_ACTION = f"""
inputs:
  scenario: {{description: Which., default: ""}}
runs:
  steps:
    - uses: actions/cache@{PIN}
    - run: '"$GITHUB_ACTION_PATH/ci/script" "$SCENARIO"'
"""


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
    return Repository(root)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_keeps_the_promises(path: Path) -> None:
    """What only CI can run is debugged by pushing; what is not pinned can change."""
    assert workflow_issues(path.read_text(encoding="utf-8"), Repository(ROOT)) == []


@pytest.mark.parametrize("path", ACTIONS, ids=lambda path: path.parent.name)
def test_an_action_keeps_the_promises(path: Path) -> None:
    """It runs in the repositories of others, with their rights."""
    assert action_issues(path.read_text(encoding="utf-8"), Repository(ROOT)) == []


def test_the_four_workflows_are_there() -> None:
    """A renamed folder would leave nothing to check, and all tests green."""
    assert {path.stem for path in WORKFLOWS} == {"ci", "e2e", "nightly", "release"}
    assert len(ACTIONS) == 2


def test_a_release_takes_nothing_from_a_cache() -> None:
    """Whoever can write to a cache could otherwise write to a release."""
    release = (ROOT / ".github" / "workflows" / "release.yml").read_text()

    assert "actions/cache" not in release
    assert "prepare" not in release
    for job in yaml.safe_load(release)["jobs"].values():
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/setup-go@"):
                assert step["with"]["cache"] is False


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


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [
        ("make e2e BACKEND", "make other BACKEND", "no such target"),
        ("make e2e BACKEND", "make NAME BACKEND", "neither a make target"),
        ('"$BACKEND"', "${{ matrix.backend }}", "neither a make target"),
        ("run: ci/script", "run: ci/absent", "no such script"),
        ("run: ci/script", "run: ci/plain", "not executable"),
        ("run: ci/script", "run: echo hello; ci/script", "neither a make target"),
        ('"$SHARD/$SHARDS"', "$(whoami)", "neither a make target"),
        ("results/a-1", "results/a-1 && curl x", "neither a make target"),
        ('"$SHARD/$SHARDS"', "$SHARD", "neither a make target"),
        (PIN, "v4 # v4.0.0", "not pinned"),
        (PIN, COMMIT[:39] + " # v1.2.3", "not pinned"),
        (PIN, COMMIT, "which version"),
        ("$/.github/actions/prepare", "$/.github/actions/other", "no action.yml"),
        ("$/.github/actions/prepare", "./.github/actions/prepare", "not pinned"),
        ("    timeout-minutes: 5\n", "", "lacks timeout-minutes"),
        ("    permissions: {contents: read}\n", "", "lacks permissions"),
        ("{contents: read}", "write-all", "all permissions"),
        ("permissions: {}\n", "", "without permissions"),
        ("permissions: {}\n", "permissions: {contents: write}\n", "without"),
        ("{persist-credentials: false}", "{fetch-depth: 0}", "credentials"),
        ("[push]", "[push, pull_request_target]", "pull_request_target"),
    ],
)
def test_a_broken_promise_is_found(
    repository: Repository, good: str, bad: str, said: str
) -> None:
    """A check that cannot fail checks nothing."""
    assert good in GOOD

    found = workflow_issues(GOOD.replace(good, bad, 1), repository)

    assert [issue for issue in found if said in issue] != []


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [
        ('"$SCENARIO"', "${{ inputs.scenario }}", "neither a make target"),
        ("description: Which., ", "", "lacks description"),
        (', default: ""', "", "lacks default"),
        ("ci/script", "ci/absent", "no such script"),
        ('"$GITHUB_ACTION_PATH/ci/script"', "$GITHUB_ACTION_PATH/ci/script", "neither"),
    ],
)
def test_a_broken_promise_of_an_action_is_found(
    repository: Repository, good: str, bad: str, said: str
) -> None:
    """An input in a script's text is a way to run what its author likes."""
    assert good in GOOD_ACTION

    found = action_issues(GOOD_ACTION.replace(good, bad, 1), repository)

    assert [issue for issue in found if said in issue] != []
