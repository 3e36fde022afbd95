"""A whole run: one cluster, every scenario, every round."""

from __future__ import annotations

from datetime import UTC, datetime

from stowage_testbed.clock import Clock
from stowage_testbed.errors import StowageError
from stowage_testbed.observe.observer import Observer
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.divergence import find_divergences
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.outcome import RunOutcome, ScenarioOutcome
from stowage_testbed.run.request import RunRequest
from stowage_testbed.run.scenario_run import run_scenario
from stowage_testbed.run.session import open_cluster
from stowage_testbed.run.stopwatch import Stopwatch


class Runner:
    """Carries one request out.

    Parameters
    ----------
    request
        What to run, and where.
    run_id
        Name of the run.
    listener
        Receives every step.
    clock
        Times the steps of the run.
    """

    def __init__(
        self,
        request: RunRequest,
        run_id: str,
        listener: Listener,
        clock: Clock | None = None,
    ) -> None:
        self._request = request
        self._run_id = run_id
        self._listener = listener
        self._stopwatch = Stopwatch(clock)
        self._started = datetime.now(tz=UTC).isoformat(timespec="seconds")
        self._outcomes: list[ScenarioOutcome] = []
        self._cluster = ""

    def run(self) -> RunOutcome:
        """Run every scenario in every round.

        An error that ends the run early is part of the outcome, with the results so
        far.
        An interrupt is raised after the cluster is down and the outcome is reported.

        Raises
        ------
        StowageError
            The run ended early, and that could not be written.
        """
        self._listener.run_started(self._run_id, self._request.total)
        try:
            self._run_on_cluster()
        except StowageError as problem:
            try:
                return self._finish(str(problem), problem.exit_code)
            except OSError as error:
                # Files that cannot be written must not hide why: a disk may be full.
                raise problem from error
        except (KeyboardInterrupt, SystemExit):
            self._finish("it was interrupted")
            raise
        return self._finish()

    def _run_on_cluster(self) -> None:
        request, listener, stopwatch = self._request, self._listener, self._stopwatch
        with open_cluster(request, listener, stopwatch) as cluster:
            self._cluster = cluster.name
            with (
                cluster.api_client() as api,
                Observer(api) as observer,
                stopwatch.step("scenarios"),
            ):
                self._run_rounds(
                    RunContext(
                        cluster,
                        api,
                        observer,
                        tag=self._run_id[-4:],
                        lasting=request.cluster is not None or request.keep_cluster,
                    )
                )

    def _run_rounds(self, context: RunContext) -> None:
        for repeat in range(1, self._request.repeat + 1):
            for scenario in self._request.scenarios:
                outcome = run_scenario(context, scenario, repeat, self._listener)
                self._outcomes.append(outcome)

    def _finish(self, error: str = "", code: int = 1) -> RunOutcome:
        outcome = RunOutcome(
            run_id=self._run_id,
            started=self._started,
            cluster=self._cluster,
            outcomes=tuple(self._outcomes),
            divergences=find_divergences(self._outcomes),
            durations_s=dict(self._stopwatch.durations_s),
            error=error,
            error_code=code,
        )
        self._listener.run_finished(outcome)
        return outcome
