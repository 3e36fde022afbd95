"""`stowage run` on workers: a scenario a task, with all its rounds on one cluster."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from stowage_testbed.cluster.backend import TOOLS, Backend
from stowage_testbed.cluster.errors import RunEndedError
from stowage_testbed.report.bundle import RUN_FILE, Bundle, round_folder
from stowage_testbed.report.evidence import EvidenceWriter
from stowage_testbed.run.listener import Listener, Listeners
from stowage_testbed.run.outcome import RunOutcome, ScenarioOutcome
from stowage_testbed.run.request import RunRequest
from stowage_testbed.run.runner import Runner
from stowage_testbed.scaleout.job import JobTask
from stowage_testbed.scaleout.parcel import packed, unpack
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.toolchain import install_tools
from stowage_testbed.workers.engine import Engine


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a worker sends of the rounds of one scenario.

    Attributes
    ----------
    outcome
        As of a run of its own.
    configurations
        Hashes of what each phase was configured with, by name.
    files
        Of the bundle, packed.
    """

    outcome: RunOutcome
    configurations: Mapping[str, str]
    files: bytes


@dataclass(frozen=True, slots=True)
class RunJob:
    """All rounds of one scenario, on a cluster that is made for them.

    Attributes
    ----------
    scenario
        Its file is at the client.
    """

    scenario: Scenario
    repeat: int
    backend: Backend
    run_id: str

    def run(self, folder: Path) -> RunReport:
        """Run it, with the tools that are missing installed first."""
        install_tools(TOOLS[self.backend], quiet=True)
        bundle = Bundle(folder, self.run_id, {}, sources=False)
        writer = EvidenceWriter(bundle.folder, print)
        request = RunRequest(
            (self.scenario,), self.repeat, backend=self.backend, folders=(folder,)
        )
        outcome = Runner(request, self.run_id, Listeners(bundle, writer)).run()
        note = round_folder(self.scenario.scenario_id, 1).parent
        machine = socket.gethostname()
        outcomes = tuple(replace(one, machine=machine) for one in outcome.outcomes)
        return RunReport(
            replace(outcome, outcomes=outcomes),
            bundle.configurations,
            packed(bundle.folder, note, without=[RUN_FILE]),
        )


class ScaledRunner(Runner):
    """Carries one request out on workers; its outcome is as of a run on one machine.

    Parameters
    ----------
    request
        Without a cluster that is up, and without one to be kept.
    run_id
        Name of the run.
    listener
        Receives the outcomes as they come.
    engine
        Its workers carry the scenarios out.
    folder
        Takes the files of each scenario.
    """

    def __init__(
        self,
        request: RunRequest,
        run_id: str,
        listener: Listener,
        engine: Engine,
        folder: Path,
    ) -> None:
        super().__init__(request, run_id, listener)
        self._engine = engine
        self._folder = folder

    def _carry_out(self) -> None:
        self._listener.stage(f"{self._engine.workers} workers")
        reasons: dict[str, str] = {}
        tasks = run_tasks(self._request, self._run_id)
        try:
            with (
                self._stopwatch.step("scenarios"),
                closing(self._engine.run(tasks)) as outcomes,
            ):
                for outcome in outcomes:
                    if outcome.failure:
                        reasons[outcome.task_id] = outcome.failure
                    else:
                        reasons[outcome.task_id] = self._take(outcome.rows[0])
            self._name_missing(reasons)
        finally:
            self._sort()

    def _take(self, report: RunReport) -> str:
        """Take a report over, and return why a part of its rounds is missing."""
        unpack(report.files, self._folder)
        known = {one.scenario_id: one for one in self._request.scenarios}
        for outcome in report.outcome.outcomes:
            # As it was read here, with its file.
            scenario = known[outcome.scenario.scenario_id]
            self._report(replace(outcome, scenario=scenario), report.configurations)
        return report.outcome.error

    def _report(
        self, outcome: ScenarioOutcome, configurations: Mapping[str, str]
    ) -> None:
        self._outcomes.append(outcome)
        self._listener.scenario_reported(outcome, configurations)

    def _name_missing(self, reasons: Mapping[str, str]) -> None:
        """Report the rounds that nobody has run.

        Raises
        ------
        RunEndedError
            There are such rounds.
        """
        done = {(one.scenario.scenario_id, one.repeat) for one in self._outcomes}
        missing = [
            (scenario, repeat)
            for repeat, scenario in _in_order(self._request)
            if (scenario.scenario_id, repeat) not in done
        ]
        for scenario, repeat in missing:
            why = f"not run: {reasons[scenario.scenario_id]}"
            self._report(ScenarioOutcome(scenario, repeat, error=why), {})
        if missing:
            names = dict.fromkeys(scenario.scenario_id for scenario, _ in missing)
            raise RunEndedError(
                f"{len(missing)} of {self._request.total} scenario runs were not run, "
                f"those of: {', '.join(names)}"
            )

    def _sort(self) -> None:
        """Put the outcomes into the order in which one machine has them."""
        order = {
            (scenario.scenario_id, repeat): place
            for place, (repeat, scenario) in enumerate(_in_order(self._request))
        }
        self._outcomes.sort(key=lambda one: order[one.scenario.scenario_id, one.repeat])


def run_tasks(request: RunRequest, run_id: str) -> Sequence[JobTask[RunReport]]:
    """Return a task for each scenario of a request, named by it."""
    return [
        JobTask(
            scenario.scenario_id,
            RunJob(scenario, request.repeat, request.backend, run_id),
        )
        for scenario in request.scenarios
    ]


def _in_order(request: RunRequest) -> Iterable[tuple[int, Scenario]]:
    return (
        (repeat, scenario)
        for repeat in range(1, request.repeat + 1)
        for scenario in request.scenarios
    )
