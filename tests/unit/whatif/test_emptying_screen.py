"""Savings and defragmentation on one screen."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from found_nodes import many_emptied, one_emptied
from typer.testing import CliRunner

from stowage_testbed.cli import app
from stowage_testbed.cli.kubectl import plugin
from stowage_testbed.whatif import asking
from stowage_testbed.whatif.emptying_screen import screen_of
from stowage_testbed.whatif.findings import NotJudged
from stowage_testbed.whatif.screen_lines import COLUMNS, LINES


def test_no_cluster_is_too_large_for_one_screen() -> None:
    """What scrolls away is not read; what is wider is wrapped and cannot be."""
    lines = screen_of(many_emptied(300), "n" * 200).split("\n")

    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS
    assert "... and 293 further nodes" in lines
    assert "... and 293 further moves" in lines


def test_the_saving_stands_between_what_is_idle_and_the_proved_limit() -> None:
    """Idle nodes take no move, and past the limit no search is worth its time."""
    said = [" ".join(line.split()) for line in screen_of(one_emptied()).split("\n")]

    assert said[0] == (
        "3 nodes, 2 in use, 1 empty but for DaemonSets. They cost 0.768 USD an hour."
    )
    assert said[1:6] == [
        "0.00 an hour, 0.00 a month: the nodes that are empty, without a move.",
        "0.384 an hour, 280.32 a month: what can be saved: 1 node after 1 move.",
        "0.50 an hour, 365.00 a month: no plan saves more, proved.",
        "1 node without a price, not counted in money:",
        "n3 (no label price).",
    ]
    assert "n1 0.384 1" in said
    assert "ns/a n1 n2" in said


def test_without_prices_nodes_are_counted_and_the_way_to_money_is_told() -> None:
    """Most will try it without a price list first."""
    said = screen_of(replace(one_emptied(), savings=None))

    assert "      1 more would be after 1 move." in said
    assert "      1 at most: no plan empties more, proved." in said
    assert "Give --prices FILE or --price-label KEY to see what that saves." in said


def test_waiting_pods_and_what_was_not_judged_are_told() -> None:
    """Emptying nodes while pods wait for room is for a human to decide."""
    found = replace(one_emptied(), pending=3, not_judged=(NotJudged("volumes"),))

    said = screen_of(found)

    assert "3 pods without a node, for which this makes no room: see stowage" in said
    assert "Not judged:\n  volumes" in said


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the options for a cluster in a file, one node of which can be emptied."""
    file = tmp_path / "all.json"
    pod = {"kind": "Pod", "metadata": {"name": "p"}}
    items = [{"kind": "Node", "metadata": {"name": "n"}}, pod]
    file.write_text(json.dumps({"kind": "List", "items": items}))
    monkeypatch.setattr(asking, "emptying_of", lambda *_: one_emptied())
    monkeypatch.setattr(
        "stowage_testbed.toolchain.install_tools", lambda *_, **__: None
    )
    return ["--file", str(file)]


def test_defragment_as_a_dry_run_says_what_would_move_and_what_comes_next(
    cluster: list[str],
) -> None:
    """People search for this word; the answer is that of savings."""
    dry = CliRunner().invoke(app, ["defragment", "--dry-run", *cluster]).output
    savings = CliRunner().invoke(plugin, ["savings", *cluster, "--all"]).output

    assert "Nothing was moved." in dry
    assert dry.startswith(savings.split("\n\nAll of it:")[0])
    assert "Nodes that could be emptied" in savings
    assert "no label price" in savings


def test_json_has_numbers_for_money(cluster: list[str]) -> None:
    """Programs sum it up."""
    found = json.loads(CliRunner().invoke(app, ["savings", *cluster, "--json"]).output)

    assert found["savings"]["saved_an_hour"] == 0.384
    assert found["savings"]["saved_a_month"] == 280.32
    assert found["emptied"] == [{"node": "n1", "pods": 1, "an_hour": 0.384}]


def test_a_file_cannot_be_defragmented(cluster: list[str]) -> None:
    """Options without a meaning here would be ignored in silence."""
    answer = CliRunner().invoke(app, ["defragment", *cluster])

    assert "--file" in str(answer.exception)
    assert "are for --dry-run" in str(answer.exception)


def test_prices_come_from_one_place(cluster: list[str], tmp_path: Path) -> None:
    """One of two would be ignored in silence."""
    asked = ["savings", *cluster, "--prices", str(tmp_path / "p"), "--price-label", "x"]

    assert "give one" in str(CliRunner().invoke(app, asked).exception)
