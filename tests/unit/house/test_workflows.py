"""What CI does, a person can do by hand; and one release does not undo another.

Pins, triggers, caches, credentials and permissions are zizmor's, in `ci/lint`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTIONS = [ROOT / "action.yml", *ROOT.glob(".github/actions/*/action.yml")]
RUN = re.compile(r"^ +(?:- )?run: (.*)$", re.M)
MAKE = re.compile(r"make ([a-z0-9-]+)(?: KINDS=(\w+))?(?: [A-Z]+=\S+)*")
SCRIPT = re.compile(r"'?(?:\"\$GITHUB_ACTION_PATH/)?(ci/[\w.-]+)[^;&|]*")


@pytest.mark.parametrize("path", [*WORKFLOWS, *ACTIONS], ids=str)
def test_a_step_is_a_make_target_or_one_script(path: Path) -> None:
    """What only CI can run is debugged by pushing."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = re.findall(r"^([a-z0-9-]+):(?!=)", makefile, re.M)

    for run in RUN.findall(path.read_text("utf-8")):
        if made := MAKE.fullmatch(run):
            assert made[1] in targets, run
        else:
            called = SCRIPT.fullmatch(run)
            assert called is not None, run
            assert os.access(ROOT / called[1], os.X_OK), run


def test_a_release_takes_nothing_from_a_cache() -> None:
    """Whoever can write to a cache could otherwise write to a release."""
    for name in ("release", "pages"):
        text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text("utf-8")

        assert "actions/cache" not in text
        assert "prepare" not in text
        assert text.count("actions/setup-go@") == text.count("cache: false")


def test_one_workflow_alone_publishes_pages() -> None:
    """A publication replaces the whole site, so that two would undo each other."""
    texts = {path.stem: path.read_text("utf-8") for path in WORKFLOWS}

    assert [one for one in texts if "deploy-pages@" in texts[one]] == ["pages"]
    calling = [one for one in texts if "/pages.yml\n" in texts[one]]
    assert calling == ["nightly", "release"]


def test_what_is_checked_before_a_commit_is_checked_by_ci() -> None:
    """Whoever passes the one must not be surprised by the other."""
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    called = [MAKE.fullmatch(h["entry"]) for r in config["repos"] for h in r["hooks"]]
    ci = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    kinds = set(re.findall(r"^check (\w+) ", (ROOT / "ci" / "lint").read_text(), re.M))

    assert [one for one in called if one and f"make {one[1]}\n" not in ci] == []
    assert {one[2] for one in called if one and one[2]} == kinds
