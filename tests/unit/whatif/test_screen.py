"""The answer on one screen, and where the rest of it is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stowage_testbed.cli import answers, app
from stowage_testbed.text.lines import COLUMNS, LINES
from stowage_testbed.whatif import asking
from stowage_testbed.whatif.details import tables
from stowage_testbed.whatif.findings import (
    BESIDE,
    LIMITED,
    NOT_FOUND,
    NOT_JUDGED,
    OPEN,
    PROVED,
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
VERDICTS = (TOO_LARGE, PROVED, BESIDE, LIMITED, OPEN, NOT_FOUND, NOT_JUDGED)
GPUS = Room("nvidia.com/gpu", 6212, 26, 13, 1213, 23, 2)


@pytest.fixture
def small() -> Findings:
    """Return what is found where one of two pods fits after a move."""
    return Findings(
        nodes=2, running=2, pending=2, fits_now=0, fits_after=1,
        moves=(Move("ns/a", "n1", "n2", 1, 7),), evictions=(), proved=True,
        proof=Proof(True, "pods"),
        tiers=(Tier(7, 2, 3, 3),), gain_by_moves=((0, 0), (1, 1)),
        left=(StillPending("ns/big", 1, TOO_LARGE, "too large"),), kept=(),
        room=(GPUS,), used_nodes=2, needed_nodes=1, fewest_nodes=1, emptied=("n1",),
        consolidating_moves=1, not_judged=(),
    )  # fmt: skip


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


LIMIT = ("with at most 1 move",)
PART = ("2 pods that wait and were not judged", "x", "y")
PRICE = HourlyPrice(1_920_000, 1_536_000, 1_536_000)
FULL = "0/2 nodes are available: 2 Insufficient cpu."
CHANGES = ("the rule singleton", "the budget b, which allows 0")


@pytest.mark.parametrize(
    ("found", "said"),
    [
        # The cheapest nodes may be more nodes; who pays asks for the price.
        (
            {"needed_nodes": 3, "hourly_price": PRICE},
            ["0.38 of 1.92 an hour saved by 1 move (proved the most): 3 nodes in use, "
             "not 2."],
        ),
        (
            {"needed_nodes": 3, "hourly_price": replace(PRICE, least_micros=384_000)},
            ["0.38 of 1.92 an hour saved by 1 move (at most 1.54): 3 nodes in use, "
             "not 2."],
        ),
        # On a GPU fleet GPUs are the question: used, free where, in which blocks.
        ({}, ["nvidia.com/gpu 6,186 / 6,212 99.6 % 26 23 2 0.2 %"]),
        # Every waiting pod is counted once.
        (
            {"left": tuple(StillPending("w", 10**k, kind, "")
                           for k, kind in enumerate(VERDICTS))},
            ["111 provably do not: 1 larger than any node, 10 in no plan, 100 not "
             "beside these.",
             "1,000 provably do not.", "10,000 do not by the best plan",
             "100,000 were not placed in time", "1,000,000 were not judged"],
        ),
        # A claim about a part would be read as one about the whole.
        (
            {"proved": False, "proof": Proof(True, "pods", PART)},
            ["1 fit after 1 move, the best found; that it is the best is not proved.",
             "leaves aside 2 pods that wait and were not judged, and 2 more."],
        ),
        # More moves would do; more time would not.
        (
            {"proved": False, "proof": Proof(True, "pods", LIMIT, LIMIT),
             "left": (StillPending("w", 5, LIMITED, ""),)},
            ["proved: no plan with at most 1 move places more",
             "5 provably do not with at most 1 move."],
        ),
        (
            {"proved": False, "proof": Proof(False, "pods", LIMIT, LIMIT)},
            ["the best found with at most 1 move in time"],
        ),
        # What keeps a workload, in the words of kubectl describe, the largest first.
        (
            {"left": (
                StillPending("ns/few", 1, PROVED, "", now="0/2 nodes: x."),
                StillPending("ns/many", 9, PROVED, "", after=FULL, changes=CHANGES),
            )},
            [f"9 ns/many: {FULL}\nto change: {', '.join(CHANGES)}\n"
             "1 ns/few: 0/2 nodes: x."],
        ),
        # A number that leaves pods out says so.
        (
            {"elsewhere": (Elsewhere("volcano", 7),), "untried": 3},
            ["wait for other schedulers: 7 for volcano.",
             "fit as things are at least: 3 were not tried in time."],
        ),
        # 608 pods that fit are no gain if 674 are evicted for them.
        (
            {"tiers": (Tier(9, 0, 5, 5), Tier(3, 10, 15, 15), Tier(0, 30, 28, 40))},
            ["Pods with a node: +5 of priority 9, -7 of priority 0."],
        ),
    ],
)  # fmt: skip
def test_a_screen_says_what_was_found(
    small: Findings, found: dict[str, Any], said: list[str]
) -> None:
    """Who decides by it reads nothing else."""
    lines = screen(replace(small, **found)).split("\n")
    text = "\n".join(" ".join(line.split()) for line in lines)
    assert [one for one in said if one not in text] == []


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
def cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, huge: Findings
) -> list[str]:
    file = tmp_path / "all.json"
    pod = {"kind": "Pod", "metadata": {"name": "p"}}
    items = [{"kind": "Node", "metadata": {"name": "n"}}, pod]
    file.write_text(json.dumps({"kind": "List", "items": items}))
    monkeypatch.setattr(asking, "findings_of", lambda *_: huge)
    monkeypatch.setattr(answers, "install_needed", lambda *_, **__: None)
    return ["whatif", "--file", str(file)]


def test_the_file_and_the_json_hold_everything(
    cluster: list[str], tmp_path: Path, huge: Findings
) -> None:
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
