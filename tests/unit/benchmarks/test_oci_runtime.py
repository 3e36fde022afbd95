"""The program that asks runc for one capability fewer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.engine import oci_runtime
from benchmarks.engine.dockerd import SYS_RESOURCE, is_withheld
from benchmarks.engine.oci_runtime import named_files, without_capability

ALL = ("bounding", "effective", "permitted")


def a_process() -> dict[str, object]:
    names = ["CAP_CHOWN", "CAP_SYS_RESOURCE", "CAP_SYS_ADMIN"]
    return {"args": ["sh"], "capabilities": {name: list(names) for name in ALL}}


def test_the_capability_is_struck_from_every_set() -> None:
    """One that is left anywhere makes runc fail as before."""
    changed = without_capability({"process": a_process()})

    process = changed["process"]
    assert isinstance(process, dict)
    for names in process["capabilities"].values():
        assert names == ["CAP_CHOWN", "CAP_SYS_ADMIN"]


def test_what_does_not_ask_for_it_is_left_alone() -> None:
    """Most containers ask for a handful of capabilities, or name none."""
    for document in ({"process": {"args": ["sh"]}}, {"args": ["sh"]}, {}):
        assert without_capability(json.loads(json.dumps(document))) == document


def test_both_ways_of_naming_capabilities_are_found(tmp_path: Path) -> None:
    """A container is made of a bundle; what is run in it later, of a process file."""
    (tmp_path / "config.json").write_text("{}")
    process = tmp_path / "process.json"
    process.write_text("{}")

    create = ["--root", "/r", "create", "--bundle", str(tmp_path), "id"]
    run = ["exec", "--process", str(process), "id"]

    assert named_files(create) == [tmp_path / "config.json"]
    assert named_files(run) == [process]
    assert named_files(["kill", "id", "9"]) == []


def test_the_program_becomes_the_runtime_that_it_is_given(tmp_path: Path) -> None:
    """Docker must see runc's own output and exit code."""
    process = tmp_path / "process.json"
    process.write_text(json.dumps(a_process()))
    runtime = tmp_path / "runc"
    runtime.write_text('#!/bin/sh\necho "ran $*"; exit 7\n')
    runtime.chmod(0o755)

    asked = ["exec", "--process", str(process), "id"]
    done = subprocess.run(
        [sys.executable, "-IS", oci_runtime.__file__, str(runtime), *asked],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == f"ran exec --process {process} id\n"
    assert done.returncode == 7
    assert "CAP_SYS_RESOURCE" not in process.read_text()


def test_what_the_machine_withholds_is_read_from_the_kernel(tmp_path: Path) -> None:
    """Only there is anything struck: everywhere else runc runs as it is."""
    status = tmp_path / "status"
    status.write_text("Name:\tx\nCapBnd:\t000001fffeffffff\n")
    assert is_withheld(SYS_RESOURCE, status)
    status.write_text("Name:\tx\nCapBnd:\t000001ffffffffff\n")
    assert not is_withheld(SYS_RESOURCE, status)
    assert os.access("/proc/self/status", os.R_OK)
