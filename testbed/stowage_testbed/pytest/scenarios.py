"""Scenarios run by pytest: which one a mark means, and the session that runs them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stowage_testbed.api.manifests import SUFFIXES, check_file
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.observe.observer import Observer
from stowage_testbed.observe.pod_group import list_sources
from stowage_testbed.report.bundle import Bundle
from stowage_testbed.run.context import RunContext, make_run_id
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.outcome import ScenarioOutcome
from stowage_testbed.run.request import DEFAULT_VARIANT
from stowage_testbed.run.scenario_run import run_scenario
from stowage_testbed.scenario.load import load_file, select
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.toolchain.environment import environment


class ScenarioSession(Listener):
    """Runs scenarios one by one on a cluster that is up, and listens to what the bundle in ``results`` says.

    ``beforehand`` is called before each, to make way for the scenario's own release.
    """

    def __init__(self, context: RunContext, results: Path, run_id: str, beforehand: Callable[[], None]) -> None:
        super().__init__()
        self._context = context
        self._beforehand = beforehand
        self._said: list[str] = []
        self._rounds: dict[str, int] = {}
        self.bundle = Bundle(results, run_id, environment(context.cluster.minor), self)
        self.outcomes: list[ScenarioOutcome] = []

    def say(self, text: str) -> None:
        """Keep it for whoever reads why the test failed."""
        self._said.append(text)

    def run(self, scenario: Scenario) -> tuple[ScenarioOutcome, str]:
        """Run a scenario; return its outcome, and in words what went wrong; skip what cannot run there."""
        self._said.clear()
        self._beforehand()
        name = scenario.scenario_id
        self._rounds[name] = self._rounds.get(name, 0) + 1
        outcome = run_scenario(self._context, scenario, self._rounds[name], self.bundle)
        self.outcomes.append(outcome)
        if outcome.skipped:
            pytest.skip(outcome.skipped)
        lines = [*outcome.failures, *filter(None, [outcome.error])]
        return outcome, "\n".join([*lines, *self._said]) if lines else ""


@contextmanager
def scenario_session(cluster: Cluster, results: Path, beforehand: Callable[[], None]) -> Iterator[ScenarioSession]:
    """Watch the cluster and keep a bundle while scenarios run."""
    run_id = make_run_id()
    with cluster.api_client() as api, Observer(api, list_sources(api)) as observer:
        context = RunContext(cluster, api, observer, tag=run_id[-4:], lasting=True)
        session = ScenarioSession(context, results, run_id, beforehand)
        try:
            yield session
        finally:
            session.bundle.folder.mkdir(parents=True, exist_ok=True)
            session.bundle.finish(session.bundle.sum_up(cluster.name, session.outcomes, durations_s={}))


def marked_scenario(mark: pytest.Mark, test: str, folder: Path, root: Path) -> Scenario:
    """Return the scenario that a mark names: its plain run unless it says otherwise.

    Files are looked for in the test's ``folder``, names in ``scenarios`` of the ``root``, and then among those that
    come with Stowage. Errors name the ``test``.
    """
    if unknown := set(mark.kwargs) - {"scenario", "variant", "label"}:
        raise _unclear(test, f"unknown argument {', '.join(sorted(unknown))}")
    if mark.args or not mark.kwargs.get("scenario"):
        raise _unclear(test, "the mark names no scenario")
    word = str(mark.kwargs["scenario"])
    if Path(word).suffix in SUFFIXES:
        found = load_file(check_file(folder / word))
    else:
        found = select([word], folder=root / "scenarios")
    runs = {one.variant or DEFAULT_VARIANT: one for one in found}
    if len({one.name for one in found}) > 1:
        raise _unclear(test, f"{word!r} means several scenarios")
    only = next(iter(runs)) if len(runs) == 1 else DEFAULT_VARIANT
    variant = mark.kwargs.get("variant", only)
    if variant not in runs:
        raise _unclear(test, f"no variant {variant!r}, there are {', '.join(sorted(runs))}")
    return runs[variant]


def _unclear(test: str, issue: str) -> StowageError:
    return StowageError(
        f'{test}: {issue}; write @pytest.mark.stowage(scenario="file.yaml") with a '
        'file beside the test, or a name such as "paper/figure-1" or '
        '"paper/priorities@mixed"'
    )
