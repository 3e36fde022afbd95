"""The commands as users type them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stowage_testbed.cli import app

pytestmark = pytest.mark.e2e

RUN = ("--cells", "n4-p4-k1-u105", "--sample", "1", "--limits", "0.2")


def invoke(*arguments: str) -> str:
    answer = CliRunner().invoke(app, arguments)
    assert answer.exit_code == 0, answer.output
    return answer.output


@pytest.mark.smoke
def test_shards_are_merged_and_reported_on(tmp_path: Path) -> None:
    """Two CI jobs, and one that puts their artefacts together."""
    parts = [str(tmp_path / name) for name in ("a", "b")]
    for number, part in enumerate(parts, start=1):
        shard = ("--shard", f"{number}/2", "--results", part)
        invoke("reproduce", "paper", *RUN, "--sample", "2", *shard)
    whole = tmp_path / "whole"

    said = invoke("reproduce", "merge", *parts, "--results", str(whole))
    again = invoke("reproduce", "report", str(whole))

    assert "Shares of all instances" in said
    assert said == again
    figures = json.loads((whole / "figures.json").read_text(encoding="utf-8"))
    by_name = {one["name"]: one["value"] for one in figures["figures"]}
    assert by_name["instances"] == 2
    assert (whole / "index.html").is_file()


def test_a_second_run_solves_nothing_again(tmp_path: Path) -> None:
    """Results are kept, and more limits are added to them."""
    results = ("--results", str(tmp_path))
    invoke("reproduce", "paper", *RUN, *results)
    before = (tmp_path / "results.jsonl").read_bytes()
    invoke("reproduce", "paper", *RUN[:-1], "0.2,0.3", *results)
    after = (tmp_path / "results.jsonl").read_bytes()
    assert after.startswith(before)
    assert len(after.splitlines()) == 2 * len(before.splitlines())
