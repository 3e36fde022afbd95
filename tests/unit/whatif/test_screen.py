"""The answer on one screen, and where the rest of it is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

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
    """What scrolls away is not read; what is wider is wrapped and cannot be."""
    lines = screen(huge).split("\n")

    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS


def test_what_is_left_out_is_counted_and_the_way_to_it_told(huge: Findings) -> None:
    """A list that ends without a word looks complete."""
    said = screen(huge)

    assert "... and 295 further moves" in said
    assert "... and 298 further resources" in said
    assert "300 reasons, the first 2" in said
    assert "--output FILE" in said.split("\n")[-1]


@pytest.mark.parametrize(
    ("price", "said"),
    [
        (HourlyPrice(1_920_000, 1_536_000, 1_536_000), "(proved the most)"),
        (HourlyPrice(1_920_000, 1_536_000, 384_000), "(at most 1.54)"),
    ],
)
def test_where_nodes_have_prices_it_tells_what_is_saved(
    small: Findings, price: HourlyPrice, said: str
) -> None:
    """The cheapest nodes may be more nodes; who pays asks for the price."""
    found = replace(small, needed_nodes=3, hourly_price=price)

    lines = screen(found).split("\n")

    assert (
        f"0.38 of 1.92 an hour saved by 1 move {said}: 3 nodes in use, not 2." in lines
    )


def test_gpus_count_like_cores(small: Findings) -> None:
    """On a GPU fleet they are the question: used, free where, in which blocks."""
    (line,) = [one for one in screen(small).split("\n") if one.startswith("nvidia")]

    assert " ".join(line.split()) == (
        "nvidia.com/gpu 6,186 / 6,212 99.6 % 26 23 2 0.2 %"
    )


def test_every_waiting_pod_is_counted_once(small: Findings) -> None:
    """Placed, provably not, not in time, not judged: these add up."""
    left = tuple(StillPending("w", 10**k, kind, "") for k, kind in enumerate(VERDICTS))

    said = screen(replace(small, left=left))

    assert (
        "111 provably do not: 1 larger than any node, 10 in no plan, "
        "100 not beside these."
    ) in said
    assert "  1,000 provably do not." in said
    assert " 10,000 do not by the best plan" in said
    assert "100,000 were not placed in time" in said
    assert "1,000,000 were not judged" in said


def test_a_claim_about_a_part_is_not_told_as_one_about_the_whole(
    small: Findings,
) -> None:
    """The word alone would be read as a proof."""
    part = Proof(True, "pods", ("2 pods that wait and were not judged", "x", "y"))

    said = screen(replace(small, proved=False, proof=part))

    assert "the best found; that it is the best is not proved." in said
    assert "leaves aside 2 pods that wait and were not judged, and 2 more." in said
    assert ", proved" not in said


def test_a_limit_is_said_where_a_plan_is_best_within_it(small: Findings) -> None:
    """More moves would do; more time would not."""
    limits = ("with at most 1 move",)
    left = (StillPending("w", 5, LIMITED, ""),)

    within = replace(
        small, proved=False, proof=Proof(True, "pods", limits, limits), left=left
    )
    late = replace(within, proof=Proof(False, "pods", limits, limits))

    assert "proved: no plan with at most 1 move places more" in screen(within)
    assert "5 provably do not with at most 1 move." in screen(within)
    assert "the best found with at most 1 move in time" in screen(late)


def test_what_keeps_a_workload_is_told_and_what_would_have_to_change(
    small: Findings,
) -> None:
    """The reason in the way, in the words that kubectl describe has for it."""
    words = "0/2 nodes are available: 2 Insufficient cpu."
    changes = ("the rule singleton", "the budget b, which allows 0")
    left = (
        StillPending("ns/few", 1, PROVED, "", now="0/2 nodes are available: x."),
        StillPending("ns/many", 9, PROVED, "", now="", after=words, changes=changes),
    )

    lines = screen(replace(small, left=left)).split("\n")

    at = lines.index(f"      9 ns/many: {words}")
    assert lines[at + 1].strip() == f"to change: {', '.join(changes)}"
    assert lines[at + 2].endswith("1 ns/few: 0/2 nodes are available: x.")


def test_pods_of_other_schedulers_and_untried_ones_do_not_vanish(
    small: Findings,
) -> None:
    """A number that leaves pods out says so."""
    said = screen(replace(small, elsewhere=(Elsewhere("volcano", 7),), untried=3))

    assert "wait for other schedulers: 7 for volcano." in said
    assert "fit as things are at least: 3 were not tried in time." in said


def test_who_loses_a_node_is_said_beside_who_gets_one(small: Findings) -> None:
    """608 pods that fit are no gain if 674 are evicted for them."""
    tiers = (Tier(9, 0, 5, 5), Tier(3, 10, 15, 15), Tier(0, 30, 28, 40))

    said = screen(replace(small, tiers=tiers))

    assert "Pods with a node: +5 of priority 9, -7 of priority 0." in said


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

    assert rows["Moves that make room"] == 300
    assert rows["Nodes that could be emptied"] == 300
    assert rows["Not judged"] == 300
    assert rows["Pods that wait for other schedulers"] == 300
    assert rows["What keeps them, in the scheduler's words"] == 4


@pytest.fixture
def cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, huge: Findings
) -> list[str]:
    """Return the command for a cluster in a file, about which ``huge`` is found."""
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


def test_an_answer_that_cannot_be_written_is_not_lost(
    cluster: list[str], tmp_path: Path
) -> None:
    """It took a minute to find; a wrong path must not throw it away."""
    (tmp_path / "file").write_text("")
    asked = [*cluster, "--output", str(tmp_path / "file" / "answer.json")]

    answer = CliRunner().invoke(app, asked)

    assert answer.exit_code != 0
    assert "pods waiting for a node" in answer.output
    assert "cannot be written" in str(answer.exception)
