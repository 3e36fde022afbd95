"""The answer on one screen, and where the rest of it is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from typer.testing import CliRunner

from stowage_testbed.cli import answers, app
from stowage_testbed.text.lines import COLUMNS, LINES
from stowage_testbed.whatif import asking
from stowage_testbed.whatif.details import tables
from stowage_testbed.whatif.findings import (
    NOT_FOUND,
    NOT_JUDGED,
    OPEN,
    TOO_LARGE,
    Elsewhere,
    Findings,
    HourlyPrice,
    Kept,
    Move,
    NotJudged,
    Proof,
    Room,
    StillPending,
    Tier,
    telling,
)
from stowage_testbed.whatif.screen import screen

LONG = "n" * 253
SCREENS = yaml.safe_load(Path(__file__).with_name("screens.yaml").read_text("utf-8"))


@pytest.fixture
def small() -> Findings:
    return msgspec.convert(SCREENS["small"], Findings)


@pytest.fixture
def huge() -> Findings:
    """Return findings with more of everything, and larger, than any cluster has."""
    many, amount = range(300), 10**17
    return Findings(
        nodes=10**6, running=10**7, pending=10**7, fits_now=10**6, fits_after=10**6,
        moves=tuple(Move(LONG, LONG, LONG, 10**5, -(2**31)) for _ in many),
        evictions=(LONG,) * 300, proved=False,
        proof=Proof(False, LONG, (LONG,) * 300, (LONG,) * 4),
        tiers=tuple(Tier(2**31 - k, 0, 10**6 * k**2, 10**7) for k in many),
        gain_by_moves=tuple((10**6 + k, 10**6 + k) for k in many),
        left=tuple(
            StillPending(
                LONG, 10**6, verdict, LONG, (LONG,) * 9, LONG, LONG, (LONG,) * 9
            )
            for verdict in (TOO_LARGE, OPEN, NOT_FOUND, NOT_JUDGED)
        ),
        kept=tuple(Kept(f"{LONG}{k}", 10**7, LONG) for k in many),
        room=tuple(
            Room(name, amount, amount // 2, amount // 3, 10**6, 10**6, amount // 4)
            for name in ("cpu", "memory", *(f"{LONG}{k}" for k in many))
        ),
        used_nodes=10**6, needed_nodes=10, fewest_nodes=1, emptied=(LONG,) * 300,
        consolidating_moves=10**7,
        not_judged=tuple(NotJudged(f"{LONG}{k}", LONG, LONG) for k in many),
        elsewhere=(Elsewhere(LONG, 10**6),) * 300, untried=10**6,
        hourly_price=HourlyPrice(10**14, 10**13, 10**12),
    )  # fmt: skip


def test_no_cluster_is_too_large_for_one_screen(huge: Findings) -> None:
    """What scrolls away is not read; a list that ends without a word looks complete."""
    said = screen(huge)
    lines = said.split("\n")

    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS
    assert "... and 295 further moves" in said
    assert "... and 298 further resources" in said
    assert "300 reasons, the first 2" in said
    assert "--output FILE" in lines[-1]


@pytest.mark.parametrize("case", SCREENS["cases"].values(), ids=SCREENS["cases"])
def test_a_screen_says_what_was_found(case: dict[str, Any]) -> None:
    """Who decides by it reads nothing else."""
    found = msgspec.convert({**SCREENS["small"], **case["found"]}, Findings)
    lines = screen(found).split("\n")
    text = "\n".join(" ".join(line.split()) for line in lines)
    assert [one for one in case["said"] if one not in text] == []


def test_the_most_telling_moves_admit_the_highest_priority_then_the_most_pods() -> None:
    """Ten of a thousand moves must be those that matter; chains only help others."""
    chain, few = Move("a", "n", "m"), Move("b", "n", "m", 1, 9)
    many, low = Move("c", "n", "m", 3, 9), Move("d", "n", "m", 99, -5)
    assert sorted((chain, low, few, many), key=telling) == [many, few, low, chain]


def test_a_name_cannot_steer_the_terminal_or_make_a_line(small: Findings) -> None:
    """Files come from anywhere."""
    odd = Move("ns/\x1b[2J\nmine", "n1", "n2", 1, 0)
    said = screen(replace(small, moves=(odd,)))
    assert "\x1b" not in said
    assert said.count("\n") == screen(small).count("\n")


def test_the_tables_hold_what_the_screen_leaves_out(huge: Findings) -> None:
    """Nothing that was found is lost."""
    rows = {table.title: len(table.rows) for table in tables(huge)}
    whole = ("Moves that make room", "Nodes that could be emptied", "Not judged",
             "Pods that wait for other schedulers")  # fmt: skip
    assert [rows[title] for title in whole] == [300] * 4
    assert rows["What keeps them, in the scheduler's words"] == 4


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, huge: Findings) -> list[str]:
    file = tmp_path / "all.json"
    pod = {"kind": "Pod", "metadata": {"name": "p"}}
    items = [{"kind": "Node", "metadata": {"name": "n"}}, pod]
    file.write_text(json.dumps({"kind": "List", "items": items}))
    monkeypatch.setattr(asking, "findings_of", lambda *_: huge)
    monkeypatch.setattr(answers, "install_needed", lambda *_, **__: None)
    return ["whatif", "--file", str(file)]


def test_the_file_and_the_json_hold_everything(cluster: list[str], tmp_path: Path, huge: Findings) -> None:
    """The screen is for people, the rest for programs and for those who ask on."""
    output = tmp_path / "new" / "answer.json"

    short = CliRunner().invoke(app, [*cluster, "--output", str(output)]).output
    whole = CliRunner().invoke(app, [*cluster, "--json"]).output
    long = CliRunner().invoke(app, [*cluster, "--all"]).output

    assert short == f"{screen(huge)}\n"
    assert json.loads(output.read_text()) == json.loads(whole)
    assert len(json.loads(whole)["moves"]) == len(huge.moves)
    assert long.startswith(short)
    assert "Pods that stay pending" in long


def test_an_unwritable_answer_is_not_lost(cluster: list[str], tmp_path: Path) -> None:
    """It took a minute to find; a wrong path must not throw it away."""
    (tmp_path / "file").write_text("")
    asked = [*cluster, "--output", str(tmp_path / "file" / "answer.json")]
    answer = CliRunner().invoke(app, asked)
    assert answer.exit_code != 0
    assert "pods waiting for a node" in answer.output
    assert "cannot be written" in str(answer.exception)
