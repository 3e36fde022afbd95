"""A comparison on workers: a round is one task, and pairs stay together."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from burst_runs import BurstArm, a_burst_run

from stowage_testbed.compare.arms.registry import choose_arms
from stowage_testbed.compare.bundle import read_bundle
from stowage_testbed.compare.reports import comparison_markdown
from stowage_testbed.compare.session.request import (
    CompareListener,
    CompareRequest,
    Turn,
    limits_of,
    one_scenario,
    turns,
)
from stowage_testbed.compare.session.session import compare
from stowage_testbed.errors import RUN_ENDED, StowageError
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.run.arm import Arm
from stowage_testbed.scaleout.parcel import packed
from stowage_testbed.scaleout.rounds import (
    OnWorkers,
    RoundJob,
    RoundReport,
    round_tasks,
)
from stowage_testbed.workers.task import Outcome, RowT, Task

SCENARIOS = Path(__file__).parents[3] / "scenarios"
ARMS = ("first", "second")
FILE = """\
name: {name}
binary: {binary}
arguments: ["{{config}}", "{{port}}", "{{qps}}", "{{burst}}"]
configuration: "none"
schedulerName: {name}
ready: http://127.0.0.1:{{port}}/healthz
settings: {{version: v1, qps: 50, burst: 100}}
"""


def arms(folder: Path) -> tuple[Arm, ...]:
    """Return arms that need no tool."""
    binary = folder / "scheduler"
    binary.write_text("one build")
    binary.chmod(0o755)
    files = [folder / f"{name}.yaml" for name in ARMS]
    for file in files:
        file.write_text(FILE.format(name=file.stem, binary=binary))
    return tuple(choose_arms([], files))


@pytest.fixture
def request_(tmp_path: Path) -> CompareRequest:
    return CompareRequest(
        scenario=one_scenario("burst/deployment-200", SCENARIOS, "small"),
        arms=arms(tmp_path),
        folder=tmp_path / "bundle",
        rounds=4,
        limits=limits_of("own,equal", 1000),
        elsewhere=True,
    )


def job_of(task: object) -> RoundJob:
    job = task.job  # type: ignore[attr-defined]
    assert isinstance(job, RoundJob)
    return job


def a_record(turn: Turn, machine: str) -> RunRecord:
    rng = np.random.default_rng(turn.round_number)
    arm = BurstArm(turn.arm, service_s=0.004 if turn.arm == ARMS[0] else 0.02)
    record = a_burst_run(rng, arm, turn.round_number, limits=turn.limits, pods=40)
    name = "burst/deployment-200@small"
    return replace(record, scenario_id=name, machine=machine)


class Measures:
    """An engine of two machines that measure in turn; the last round comes first."""

    workers = 2

    def __init__(self, folder: Path, *, lost: str = "", cut: str = "") -> None:
        self.folder = folder
        self.lost, self.cut = lost, cut
        self.carried_out: list[str] = []

    def run(self, tasks: Sequence[Task[RowT]]) -> Generator[Outcome[RowT], None, None]:
        for number, task in enumerate(reversed(tasks)):
            self.carried_out.append(task.id)
            if task.id == self.lost:
                yield Outcome(task.id, failure="set aside: 4 workers died on it")
            else:
                report = self.measured(task, f"node-{number % 2}")
                yield Outcome(task.id, (report,))  # type: ignore[arg-type]

    def measured(self, task: Task[RowT], machine: str) -> RoundReport:
        job = job_of(task)
        logs = self.folder / task.id / "logs"
        logs.mkdir(parents=True)
        (logs / f"{task.id}.log").write_text(machine)
        report = RoundReport(files=packed(logs.parent, Path("logs")))
        done = job.turns[:1] if task.id == self.cut else job.turns
        report.records = [a_record(turn, machine) for turn in done]
        report.error = "on node-0: etcd has ended" if task.id == self.cut else ""
        report.configurations = [("own", ARMS[0], f"of {task.id}")]
        return report


def every_turn(request: CompareRequest) -> list[Turn]:
    return list(turns(list(request.limits), ARMS, request.rounds, request.seed))


def test_a_round_is_never_split(request_: CompareRequest) -> None:
    """A ratio of runs on two machines would compare the machines."""
    tasks = round_tasks(request_, every_turn(request_))

    assert len(tasks) == request_.rounds
    for number, task in enumerate(tasks, 1):
        found = job_of(task).turns
        assert {turn.round_number for turn in found} == {number}
        kinds = {(turn.limits, turn.arm) for turn in found}
        assert kinds == {(limits, arm) for limits in request_.limits for arm in ARMS}


def test_turns_stand_in_the_order_of_one_machine(request_: CompareRequest) -> None:
    """Which arm begins rotates over the rounds, wherever they run."""
    wanted = every_turn(request_)
    tasks = round_tasks(request_, wanted)
    assert [turn for task in tasks for turn in job_of(task).turns] == wanted


def test_the_result_is_that_of_one_machine(
    request_: CompareRequest, tmp_path: Path
) -> None:
    """Records by limits, round and arm, and a pair from one machine."""
    result = compare(request_, CompareListener(), OnWorkers(Measures(tmp_path / "w")))

    keys = [(one.limits, one.round_number, one.arm) for one in result.records]
    assert keys == sorted(keys, key=lambda key: (key[0] != "own", *key[1:]))
    assert len(keys) == 2 * 2 * request_.rounds
    for number in range(1, request_.rounds + 1):
        pair = {one.machine for one in result.records if one.round_number == number}
        assert len(pair) == 1
    assert result.complete
    assert {one.outcome for one in result.verdicts[0].verdicts} & {"worse"}
    assert (request_.folder / "logs" / "round 3.log").is_file()
    assert read_bundle(request_.folder).complete


def test_a_report_says_that_machines_differed(
    request_: CompareRequest, tmp_path: Path
) -> None:
    """Spread between rounds may be that of the machines."""
    result = compare(request_, CompareListener(), OnWorkers(Measures(tmp_path / "w")))
    said = comparison_markdown(result, whole=False)
    assert "measured on 2 machines, each round on one of them: node-0, node-1" in said


def test_the_speed_of_the_client_is_not_noted(
    request_: CompareRequest, tmp_path: Path
) -> None:
    """A baseline must not be scaled by a machine that measured nothing."""
    result = compare(request_, CompareListener(), OnWorkers(Measures(tmp_path / "w")))
    assert result.comparison.speed is None


@pytest.mark.parametrize("how", ["lost", "cut"])
def test_a_round_that_is_missing_is_named_and_made_next_time(
    request_: CompareRequest, tmp_path: Path, how: str
) -> None:
    """Its half must not be a pair with a run of another day; the others are kept."""
    first = Measures(tmp_path / "w", **{how: "round 2"})
    with pytest.raises(StowageError, match=r"1 of 4 rounds .*\n  round 2: ") as raised:
        compare(request_, CompareListener(), OnWorkers(first))
    assert raised.value.exit_code == RUN_ENDED
    assert not read_bundle(request_.folder).complete

    again = Measures(tmp_path / "again")
    result = compare(request_, CompareListener(), OnWorkers(again))

    assert again.carried_out == ["round 2"]
    assert result.complete
    assert len(result.records) == 2 * 2 * request_.rounds


def test_an_arm_built_from_something_else_is_refused(
    request_: CompareRequest, tmp_path: Path
) -> None:
    """A user's program is on each machine; two versions of it are two arms."""
    (task, *_) = round_tasks(request_, every_turn(request_))
    (tmp_path / "scheduler").write_text("another build")
    with pytest.raises(StowageError, match="the arm 'first' is built from"):
        job_of(task).arms_here()
