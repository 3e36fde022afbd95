"""Workflows, locks, the map of tests for the night, and the network that tests lack.

Pins, triggers, caches, credentials and permissions of workflows are zizmor's, in `ci/lint`.
"""

import os
import re
import subprocess
import sys
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


@pytest.mark.parametrize("lock", ["requirements.lock", "ci/images/optimizer/requirements.lock"])
def test_lock_files_carry_hashes_and_no_addresses(lock: str) -> None:
    """An address in a lock file ties every user to one network."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    pins = re.findall(r"^[a-z0-9][^\s=]*==", text, re.MULTILINE)

    assert pins
    assert text.count("--hash=sha256:") >= len(pins)
    assert "://" not in text
    assert "--find-links" not in text


ABSENT = "example.com/absent@v1.0.0"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("go", "mod", "download", ABSENT), "GOPROXY=off"),
        ((sys.executable, "-m", "pip", "download", "absent"), "No matching distrib"),
        ((sys.executable, "-m", "uv", "pip", "install", "absent"), "network was disa"),
    ],
    ids=["go", "pip", "uv"],
)
def test_what_a_test_tries_to_fetch_fails_at_once(command: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """On a good day it would pass, and on a busy machine it would time out."""
    (tmp_path / "go.mod").write_text("module m\n")
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "VIRTUAL_ENV": sys.prefix, "GOFLAGS": "-mod=mod"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode != 0
    assert said in done.stderr


TESTS: dict[str, list[str]] = yaml.safe_load((ROOT / "tests/touched.yaml").read_text())
NIGHTLY = re.compile(r"pytest\.mark\.nightly|mark\.nightly")


def test_every_folder_of_the_checkout_is_mapped() -> None:
    """A new folder would otherwise wait for the night in silence."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    folders = {line.split("/")[0] for line in listed.stdout.splitlines() if "/" in line}

    assert {one for one in folders if not one.startswith(".")} <= set(TESTS)
    assert [one for one in TESTS if not (ROOT / one).is_dir()] == []


def test_every_test_for_the_night_belongs_to_a_folder() -> None:
    """What no change brings forward is found red by somebody who changed nothing."""
    mapped = {path for paths in TESTS.values() for path in paths}
    nightly = {
        path.relative_to(ROOT)
        for path in (ROOT / "tests").rglob("test_*.py")
        if NIGHTLY.search(path.read_text("utf-8")) and path != Path(__file__)
    }

    assert [str(one) for one in nightly if not mapped & {str(one), *(str(folder) for folder in one.parents)}] == []
    assert [one for one in mapped if not (ROOT / one).exists()] == []
