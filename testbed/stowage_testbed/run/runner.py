"""A whole run: every scenario, every round, on one cluster or on several."""

from __future__ import annotations

from datetime import UTC, datetime

from stowage_testbed.base.errors import StowageError
from stowage_testbed.run.context import Stopwatch
from stowage_testbed.run.listener import Listener, Writers
from stowage_testbed.run.outcome import RunOutcome, ScenarioOutcome, find_divergences
from stowage_testbed.run.request import RunRequest
from stowage_testbed.run.scenario_run import run_scenario
from stowage_testbed.run.session import open_context
from stowage_testbed.run.tasks import list_tasks
from stowage_testbed.run.workers import WorkerPool


class Runner:
    """Carries one request out."""

    def __init__(
        self, request: RunRequest, run_id: str, listener: Listener, writers: Writers = lambda _shown: Listener()
    ) -> None:
        self._request = request
        self._run_id = run_id
        self._shown, self._writers = listener, writers
        self._listener = Listener(listener, writers(listener))
        self._stopwatch = Stopwatch()
        self._started = datetime.now(tz=UTC).isoformat(timespec="seconds")
        self._outcomes: list[ScenarioOutcome] = []
        self._cluster = ""

    def run(self) -> RunOutcome:
        """Run every scenario in every round.

        An error that ends the run early is part of the outcome, with the results so far. An interrupt is raised after
        the cluster is down and the outcome is reported.
        """
        self._listener.run_started(self._run_id, self._request.total)
        try:
            if self._request.jobs > 1:
                self._run_side_by_side()
            else:
                with open_context(self._request, self._run_id, self._listener, self._stopwatch) as context:
                    self._cluster = context.cluster.name
                    for task in list_tasks(self._request):
                        self._outcomes.append(run_scenario(context, task.scenario, task.repeat, self._listener))
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

    def _run_side_by_side(self) -> None:
        pool = WorkerPool(self._request, self._run_id, self._shown, self._writers)
        try:
            pool.run()
        finally:
            self._outcomes = [pool.outcomes[place] for place in sorted(pool.outcomes)]
            self._cluster = ", ".join(pool.clusters)
            self._stopwatch.durations_s.update(pool.durations_s)

    def _finish(self, error: str = "", code: int = 1) -> RunOutcome:
        outcome = RunOutcome(
            run=self._run_id,
            started=self._started,
            cluster=self._cluster,
            scenarios=tuple(self._outcomes),
            divergences=find_divergences(self._outcomes),
            durations_s=dict(self._stopwatch.durations_s),
            error=error,
            error_code=code,
        )
        self._listener.run_finished(outcome)
        return outcome
