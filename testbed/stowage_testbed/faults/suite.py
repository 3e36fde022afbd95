"""All tries of some faults, one after the other on one cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stowage_testbed.faults.attempt import Attempt
from stowage_testbed.faults.cluster import FaultCluster
from stowage_testbed.faults.journal import TrialJournal
from stowage_testbed.faults.trial import Trial
from stowage_testbed.scenario.model import Scenario

PATIENCE = 2
"""Attempts for each try that is asked for: a moment may be missed."""


def on_fresh_nodes(scenario: Scenario, number: int) -> Scenario:
    """Return the scenario with node names of its own.

    KWOK may overlook a node that comes back under a name that was used just before:
    pods that are bound to it are then never started.
    """
    pools = (
        replace(pool, name_prefix=f"{pool.name_prefix}-{number}")
        for pool in scenario.nodes
    )
    return replace(scenario, nodes=tuple(pools))


@dataclass(frozen=True, slots=True)
class Suite:
    """What is tried.

    Parameters
    ----------
    cluster
        Where.
    journal
        What was tried before; takes what is tried now.
    seed
        Everything that is drawn comes from it.
    results
        Folder of the evidence of tries that fail.
    say
        Receives a line for each try.
    tries
        Of each scenario; its own number without.
    """

    cluster: FaultCluster
    journal: TrialJournal
    seed: int
    results: Path
    say: Callable[[str], None]
    tries: int | None = None

    def run(self, scenarios: Sequence[Scenario]) -> list[Trial]:
        """Try each scenario as often as is asked, and return the tries that failed."""
        return [trial for scenario in scenarios for trial in self._failed(scenario)]

    def _failed(self, scenario: Scenario) -> list[Trial]:
        wanted = self._wanted(scenario)
        done = self.journal.of(scenario.scenario_id, self.seed)
        struck = sum(trial.struck for trial in done)
        failed = [trial for trial in done if not trial.passed]
        number = max((trial.number for trial in done), default=0)
        while struck < wanted and number < PATIENCE * wanted:
            number += 1
            fresh = on_fresh_nodes(scenario, number)
            attempt = Attempt(self.cluster, fresh, number, self.seed, self.results)
            trial = attempt.run()
            self.journal.add(trial)
            self.say(trial.in_words())
            struck += trial.struck
            if not trial.passed:
                failed.append(trial)
        return failed

    def _wanted(self, scenario: Scenario) -> int:
        if self.tries is not None:
            return self.tries
        return scenario.fault.tries if scenario.fault else 0
