"""How many pods the steps ask for, workload by workload, step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from stowage_testbed.scenario.steps.model import (
    Action,
    Apply,
    Burst,
    Delete,
    Replay,
    Scale,
    Step,
)


class Demand:
    """Keeps count; pods that are done by themselves stay in it.

    Parameters
    ----------
    pods_by_name
        How many pods come with what a step applies; what is not named brings none.
    """

    def __init__(self, pods_by_name: Mapping[str, int]) -> None:
        self._pods_by_name = pods_by_name
        self._asked: Counter[str] = Counter()

    def follow(self, action: Action) -> None:
        """Take in one step."""
        match action:
            case Apply(names):
                for name in names:
                    self._asked[name] += self._pods_by_name.get(name, 0)
            case Delete(names):
                for name in names:
                    self._asked[name] = 0
            case Scale(workload, to):
                self._asked[workload] = to
            case Burst(workload, pods):
                self._asked[workload] += pods
            case Replay(_, pods):
                self._asked.update(pod.owner for pod in pods)
            case _:
                return

    def of(self, names: Iterable[str]) -> int:
        """Return how many pods of these are asked for."""
        return sum(self._asked[name] for name in names)

    @property
    def asked(self) -> Mapping[str, int]:
        """How many pods of each are asked for."""
        return +self._asked

    @property
    def total(self) -> int:
        """How many pods are asked for."""
        return self._asked.total()


def most_pods(steps: Iterable[Step], pods_by_name: Mapping[str, int]) -> int:
    """Return the most pods that are asked for at a time."""
    demand, most = Demand(pods_by_name), 0
    for step in steps:
        demand.follow(step.action)
        most = max(most, demand.total)
    return most


def most_pods_each(
    steps: Iterable[Step], pods_by_name: Mapping[str, int]
) -> dict[str, int]:
    """Return the most pods that are asked for at a time, of each."""
    demand, most = Demand(pods_by_name), Counter[str]()
    for step in steps:
        demand.follow(step.action)
        most |= Counter(demand.asked)
    return dict(most)
