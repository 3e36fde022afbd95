"""`stowage compare` on workers: a round a task, with all its arms on one cluster.

The runs of a round are pairs: what one of them is divided by must come from the same
machine, in the same minutes. So a round is never split, and a worker that dies takes
the whole round with it, which another one makes anew.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from stowage_testbed.cluster.backend import TOOLS, Backend
from stowage_testbed.cluster.errors import RunEndedError
from stowage_testbed.cluster.interruption import ending_cleanly
from stowage_testbed.compare.arms.registry import ARMS, choose_arms
from stowage_testbed.compare.result import Result
from stowage_testbed.compare.session.request import (
    CompareListener,
    CompareRequest,
    LimitsKind,
    Turn,
)
from stowage_testbed.compare.session.session import Keeper, compare, run_turns
from stowage_testbed.errors import StowageError
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.run.arm import Arm, ClientLimits
from stowage_testbed.scaleout.job import JobTask
from stowage_testbed.scaleout.parcel import packed, unpack
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.toolchain import install_tools
from stowage_testbed.toolchain.location import ToolMissingError
from stowage_testbed.workers.engine import Engine, engine_for
from stowage_testbed.workers.program import cluster_program


@dataclass(slots=True)
class RoundReport:
    """What a worker sends of one round; it keeps what the turns leave.

    Attributes
    ----------
    records
        In the order of the turns.
    configurations
        What the arms' schedulers read: limits, arm and text.
    files
        The arms' logs, packed.
    error
        Why turns are missing; empty if none are.
    """

    records: list[RunRecord] = field(default_factory=list)
    configurations: list[tuple[str, str, str]] = field(default_factory=list)
    files: bytes = b""
    error: str = ""

    def add(self, record: RunRecord) -> None:
        """Keep a run, with the machine that measured it."""
        self.records.append(replace(record, machine=socket.gethostname()))

    def add_configuration(self, limits: str, arm: str, text: str) -> None:
        """Keep what an arm's scheduler reads."""
        self.configurations.append((limits, arm, text))


@dataclass(frozen=True, slots=True)
class RoundJob:
    """The turns of one round, one after the other on a cluster made for them.

    Attributes
    ----------
    arms
        Those that Stowage has by their names, since they read files of its own; a
        user's own as it is.
    builds
        By name, what each arm is built from at the client.
    turns
        In their order.
    """

    scenario: Scenario
    arms: tuple[str | Arm, ...]
    builds: Mapping[str, str]
    limits: Mapping[LimitsKind, ClientLimits | None]
    warm_up: int
    turns: tuple[Turn, ...]

    def run(self, folder: Path) -> RoundReport:
        """Carry the turns out, with the tools that are missing installed first."""
        install_tools(TOOLS[Backend.KWOK_BINARY], quiet=True)
        request = CompareRequest(
            self.scenario,
            self.arms_here(),
            folder,
            limits=self.limits,
            warm_up=self.warm_up,
        )
        report = RoundReport()
        try:
            run_turns(request, self.turns, report, CompareListener())
        except StowageError as error:
            report.error = f"on {socket.gethostname()}: {error}"
        report.files = packed(folder, Path("logs"))
        return report

    def arms_here(self) -> tuple[Arm, ...]:
        """Return the arms as they are on this machine.

        Raises
        ------
        StowageError
            One is built from something else than at the client.
        """
        return tuple(self._arm(one) for one in self.arms)

    def _arm(self, named: str | Arm) -> Arm:
        arm = choose_arms([named])[0] if isinstance(named, str) else named
        try:
            build = arm.build()
        except ToolMissingError as error:
            install_tools([error.name], quiet=True)
            build = arm.build()
        if build != self.builds[arm.name]:
            raise StowageError(
                f"the arm {arm.name!r} is built from {build} here and from "
                f"{self.builds[arm.name]} at the client; put the same program there"
            )
        return arm


class OnWorkers:
    """Carries the turns of a comparison out, a round a task.

    Parameters
    ----------
    engine
        Its workers do it.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __call__(
        self,
        request: CompareRequest,
        todo: Sequence[Turn],
        keeper: Keeper,
        listener: CompareListener,
    ) -> None:
        """Keep what the workers send, round by round, as it comes.

        Raises
        ------
        RunEndedError
            Rounds are missing at the end; the others are kept.
        """
        listener.stage(f"{self._engine.workers} workers")
        tasks = {task.id: task for task in round_tasks(request, todo)}
        missing: dict[str, str] = {}
        number = 0
        with closing(self._engine.run(list(tasks.values()))) as outcomes:
            for outcome in outcomes:
                report = RoundReport(error=outcome.failure)
                if not outcome.failure:
                    report = outcome.rows[0]
                    unpack(report.files, request.folder)
                for record in report.records:
                    number += 1
                    turn = Turn(record.limits, record.round_number, record.arm)
                    listener.turn_started(turn, number, len(todo))
                    keeper.add(record)
                    listener.turn_finished(turn, record)
                for configuration in report.configurations:
                    keeper.add_configuration(*configuration)
                if report.error:
                    missing[outcome.task_id] = report.error
        if missing:
            listed = "\n".join(f"  {name}: {why}" for name, why in missing.items())
            raise RunEndedError(
                f"{len(missing)} of {len(tasks)} rounds were not run:\n{listed}\n"
                "what was measured is kept; the same command makes the missing rounds"
            )


def round_tasks(
    request: CompareRequest, todo: Sequence[Turn]
) -> list[JobTask[RoundReport]]:
    """Return a task for each round that has turns to do, named by it."""
    arms = tuple(one.name if one.name in ARMS else one for one in request.arms)
    builds = {arm.name: arm.build() for arm in request.arms}
    return [
        JobTask(
            f"round {number}",
            RoundJob(
                request.scenario,
                arms,
                builds,
                request.limits,
                request.warm_up,
                tuple(turns),
            ),
        )
        for number, turns in groupby(todo, key=lambda turn: turn.round_number)
    ]


def compare_on_workers(
    request: CompareRequest,
    listener: CompareListener,
    workers: int,
    dask_address: str | None,
) -> Result:
    """Run a comparison, or resume one, on workers, and return its result."""
    with (
        ending_cleanly(),
        engine_for(workers, dask_address, cluster_program) as engine,
    ):
        return compare(request, listener, OnWorkers(engine))
