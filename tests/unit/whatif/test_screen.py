"""The answer on one screen, and where the rest of it is."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from typer.testing import CliRunner

from stowage_testbed.base.errors import InputError
from stowage_testbed.cli import answers, app
from stowage_testbed.text.tables import COLUMNS, LINES
from stowage_testbed.whatif.findings import (
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
    Verdict,
    WaitingGang,
)
from stowage_testbed.whatif.inventory import Inventory
from stowage_testbed.whatif.screen import screen, tables
from stowage_testbed.whatif.settings import LABEL, PlanLimits, Release, prices_of, release_of

LONG = "n" * 253
SCREENS = yaml.safe_load(Path(__file__).with_name("screens.yaml").read_text("utf-8"))


@pytest.fixture
def small() -> Findings:
    return msgspec.convert(SCREENS["small"], Findings)


@pytest.fixture
def huge() -> Findings:
    """Return findings with more of everything, and larger, than any cluster has."""
    many, amount = range(300), 10**17
    verdicts: tuple[Verdict, ...] = ("too large", "open", "not found", "not judged")
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
            for verdict in verdicts
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
        gangs=tuple(
            WaitingGang(LONG, 10**6, 10**5, 0, 0, 10**5 * placed, 10**6, 10**6, LONG) for placed in (1, 0) * 150
        ),
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
    assert "\n\ncapacity" in said
    assert "--output FILE" in lines[-1]


@pytest.mark.parametrize("case", SCREENS["cases"].values(), ids=SCREENS["cases"])
def test_a_screen_says_what_was_found(case: dict[str, Any]) -> None:
    """Who decides by it reads nothing else."""
    found = msgspec.convert({**SCREENS["small"], **case["found"]}, Findings)
    lines = screen(found).split("\n")
    text = "\n".join(" ".join(line.split()) for line in lines)
    assert [one for one in case["said"] if one not in text] == []


def test_a_name_cannot_steer_the_terminal_or_make_a_line(small: Findings) -> None:
    """Files come from anywhere."""
    odd = Move("ns/\x1b[2J\nmine", "n1", "n2", 1, 0)
    said = screen(msgspec.structs.replace(small, moves=(odd,)))
    assert "\x1b" not in said
    assert said.count("\n") == screen(small).count("\n")


def test_the_tables_hold_what_the_screen_leaves_out(huge: Findings) -> None:
    """Nothing that was found is lost."""
    rows = {table.title: len(table.rows) for table in tables(huge)}
    whole = ("Moves that make room", "Nodes that could be emptied", "Not evaluated",
             "Pods that wait for other schedulers", "Gangs that wait")  # fmt: skip
    assert [rows[title] for title in whole] == [300] * 5
    assert rows["What keeps them, in the scheduler's words"] == 4


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, huge: Findings) -> list[str]:
    file = tmp_path / "all.json"
    pod = {"kind": "Pod", "metadata": {"name": "p"}}
    items = [{"kind": "Node", "metadata": {"name": "n"}}, pod]
    file.write_text(json.dumps({"kind": "List", "items": items}))
    monkeypatch.setattr("stowage_testbed.whatif.answer.findings_of", lambda *_: huge)
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


CASES: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("prices.yaml").read_text("utf-8"))
FILES = CASES["files"]


@pytest.mark.parametrize("case", CASES["prices"].values(), ids=CASES["prices"])
def test_a_label_counts_before_the_file_and_that_before_what_was_asked_for(case: list[Any], tmp_path: Path) -> None:
    """Who set a label knew the node; who gave an option knew no node."""
    labels, file, asked, price = case
    path = tmp_path / ("prices.csv" if file == "list" else "prices.yaml")
    path.write_text(FILES.get(file, ""))
    known = prices_of(path if file in FILES else None, asked)
    node = {"kind": "Node", "metadata": {"name": "n", "labels": labels}}
    (priced,) = known.priced(Inventory((node,), ())).nodes
    assert priced["metadata"]["labels"].get(LABEL) == price


@pytest.mark.parametrize(("content", "said"), CASES["refused"].items())
def test_a_senseless_file_is_refused(content: str, said: str, tmp_path: Path) -> None:
    """With what is wrong in it."""
    file = tmp_path / "prices.yaml"
    file.write_text(content)
    with pytest.raises(InputError, match=said):
        prices_of(file)


@pytest.mark.parametrize("text", ["cheap", "pool=spot", "pool=spot:x", "=a:0.1"])
def test_an_option_without_sense_is_refused(text: str) -> None:
    """It costs a run of the optimiser else."""
    with pytest.raises(InputError):
        prices_of(None, [text])


def test_rules_limits_gates_and_pods_are_those_of_the_release(tmp_path: Path) -> None:
    """Values that name no scheduler are of no release yet, which may have either."""
    file = tmp_path / "values.yaml"
    file.write_text(
        "priorityOptimizer: {evictJobs: true, namespaceSelector: {}, limits: "
        "{maxMoves: 7, maxPerNode: 0}}\n"
        "scheduler: {featureGates: {NodeDeclaredFeatures: true}}\nprofile: optimizer\n"
    )

    release = release_of(file)

    assert release.arguments["evictJobs"] is True
    assert "namespaceSelector" not in release.arguments
    assert release.limits() == {"maxMoves": 7}
    assert release.feature_gates == "NodeDeclaredFeatures=true"
    assert release.schedulers == ("default-scheduler", "stowage")
    assert release_of(None).schedulers == ("default-scheduler", "stowage")
    file.write_text("schedulerName: mine\n")
    assert release_of(file).schedulers == ("mine",)


@pytest.mark.parametrize(("asked", "right"), [(None, 5), (9, 5), (2, 2), (0, 5)])
def test_fewer_moves_than_allowed_can_be_asked(asked: int | None, right: int) -> None:
    """None at all is beyond what the plugin's limits can say; the optimiser is told."""
    release = Release(arguments={"limits": {"maxMoves": 5, "maxPerNode": 1}})
    arguments = PlanLimits(max_moves=asked, release=release).arguments()
    assert arguments["limits"] == {"maxMoves": right, "maxPerNode": 1}


@pytest.mark.parametrize("text", ["[1, 2]", "priorityOptimizer: true", "a: ["])
def test_what_holds_no_values_is_refused(tmp_path: Path, text: str) -> None:
    """The way out is the command that prints them."""
    file = tmp_path / "values.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match="helm get values"):
        release_of(file)
