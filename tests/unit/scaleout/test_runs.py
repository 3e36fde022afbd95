"""A run on workers is reported as one on a single machine is."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from outcomes import a_run, an_outcome

from stowage_testbed.errors import RUN_ENDED
from stowage_testbed.report.bundle import Bundle
from stowage_testbed.report.junit import junit_xml
from stowage_testbed.report.progress import LiveProgress
from stowage_testbed.run.listener import Listeners
from stowage_testbed.run.outcome import RunOutcome, ScenarioOutcome
from stowage_testbed.run.request import RunRequest
from stowage_testbed.scaleout.parcel import packed
from stowage_testbed.scaleout.runs import RunReport, ScaledRunner, run_tasks
from stowage_testbed.workers.task import Outcome, RowT, Task

NAMES = ("a/first", "a/second", "b/third")


class Answers:
    """An engine whose workers answer in the opposite order of the tasks."""

    workers = 2

    def __init__(self, **failures: str) -> None:
        self.failures = failures
        self.reports: dict[str, RunReport] = {}

    def run(self, tasks: Sequence[Task[RowT]]) -> Generator[Outcome[RowT], None, None]:
        for task in reversed(tasks):
            if task.id in self.reports:
                yield Outcome(task.id, (self.reports[task.id],))  # type: ignore[arg-type]
            else:
                yield Outcome(task.id, failure="set aside: 4 workers died on it")


def request(path: Path, repeat: int = 2) -> RunRequest:
    path.write_text("name: x\n")
    scenarios = [replace(an_outcome(name=one).scenario, path=path) for one in NAMES]
    return RunRequest(tuple(scenarios), repeat)


def reported(
    folder: Path, outcomes: Sequence[ScenarioOutcome], error: str = ""
) -> RunReport:
    sent = folder / "sent"
    name = outcomes[0].scenario.name.replace("/", "-")
    (sent / name).mkdir(parents=True)
    (sent / name / "events.jsonl").write_text("{}\n")
    there = tuple(
        replace(one, scenario=replace(one.scenario, path=Path("/elsewhere.yaml")))
        for one in outcomes
    )
    run = replace(a_run(*there), error=error)
    return RunReport(run, {f"{name}: values": "abc"}, packed(sent, Path(name)))


def answering(tmp_path: Path, repeat: int = 2) -> Answers:
    engine = Answers()
    for name in NAMES:
        rounds = [an_outcome(name=name, repeat=one + 1) for one in range(repeat)]
        engine.reports[name] = reported(tmp_path / name, rounds)
    return engine


def run(tmp_path: Path, engine: Answers) -> tuple[RunOutcome, Path]:
    bundle = Bundle(tmp_path / "results", "run-1", {})
    asked = request(tmp_path / "scenario.yaml")
    runner = ScaledRunner(asked, "run-1", Listeners(bundle), engine, bundle.folder)
    return runner.run(), bundle.folder


def test_a_task_is_a_scenario_with_all_its_rounds(tmp_path: Path) -> None:
    """Rounds are compared with each other, and must not differ by the machine."""
    tasks = run_tasks(request(tmp_path / "s.yaml"), "run-1")
    assert [task.id for task in tasks] == list(NAMES)
    assert {task.job.repeat for task in tasks} == {2}  # type: ignore[attr-defined]


def test_outcomes_stand_in_the_order_of_one_machine(tmp_path: Path) -> None:
    """Whichever worker was first: two reports must differ by what is in them."""
    outcome, folder = run(tmp_path, answering(tmp_path))

    found = [(one.repeat, one.scenario.name) for one in outcome.outcomes]
    assert found == [(repeat, name) for repeat in (1, 2) for name in NAMES]
    assert outcome.passed
    document = json.loads((folder / "run.json").read_text())
    assert [one["scenario"] for one in document["scenarios"]] == list(NAMES) * 2
    assert list(document["durations_s"]) == ["scenarios"]
    hashes = document["environment"]["config_hashes"]
    assert hashes["a-first: values"] == "abc"
    assert "a/first: scenario" in hashes


def test_each_scenario_has_its_files(tmp_path: Path) -> None:
    """Those that the worker made, and its own, which only the client has."""
    _, folder = run(tmp_path, answering(tmp_path))
    assert (folder / "a-first/events.jsonl").is_file()
    assert (folder / "a-first/round-2/scenario.yaml").read_text() == "name: x\n"
    assert (folder / "a-first/round-2/outcome.json").is_file()


def test_rounds_that_place_otherwise_are_found(tmp_path: Path) -> None:
    """The comparison of rounds is made here, of what the workers send."""
    engine = answering(tmp_path)
    rounds = [
        an_outcome(name=NAMES[0]),
        an_outcome(name=NAMES[0], repeat=2, nodes={"a": ["n2"], "b": ["n1"]}),
    ]
    engine.reports[NAMES[0]] = reported(tmp_path / "other", rounds)
    outcome, _ = run(tmp_path, engine)
    assert [one.scenario_id for one in outcome.divergences] == [NAMES[0]]


def test_a_scenario_on_which_workers_died_is_named(tmp_path: Path) -> None:
    """The others count; the run as a whole has no verdict, and JUnit has the reason."""
    engine = answering(tmp_path)
    del engine.reports[NAMES[1]]

    outcome, _ = run(tmp_path, engine)

    assert outcome.error == "2 of 6 scenario runs were not run, those of: a/second"
    assert outcome.error_code == RUN_ENDED
    assert [one.passed for one in outcome.outcomes] == [True, False, True] * 2
    assert "not run: set aside: 4 workers died on it" in junit_xml(outcome)


def test_a_run_that_ended_early_on_its_worker_keeps_what_it_had(tmp_path: Path) -> None:
    """One round is there; why the other is not is its error."""
    engine = answering(tmp_path)
    first = [an_outcome(name=NAMES[0])]
    engine.reports[NAMES[0]] = reported(tmp_path / "x", first, "etcd has ended")

    outcome, _ = run(tmp_path, engine)

    mine = [one for one in outcome.outcomes if one.scenario.name == NAMES[0]]
    assert [one.error for one in mine] == ["", "not run: etcd has ended"]


def test_progress_names_who_ran_a_scenario(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A machine that fails them all shows at once."""
    progress = LiveProgress()
    progress.run_started("run-1", 1)
    progress.scenario_reported(replace(an_outcome(), machine="node-7"), {})
    progress.close()
    assert "passed paper/figure-1 in" in (said := capsys.readouterr().err)
    assert "(node-7)" in said
