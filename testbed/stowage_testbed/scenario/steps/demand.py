"""How many pods the steps ask for, workload by workload, step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol


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

    def apply(self, names: Iterable[str]) -> None:
        """Add the pods that come with each of these."""
        for name in names:
            self._asked[name] += self._pods_by_name.get(name, 0)

    def add(self, names: Iterable[str]) -> None:
        """Add a pod to each of these; a name may come often."""
        self._asked.update(names)

    def set(self, name: str, pods: int) -> None:
        """Ask for so many pods of one."""
        self._asked[name] = pods

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


class Asking(Protocol):
    """An action that may ask for pods."""

    def ask(self, demand: Demand) -> None:
        """Count the pods that there shall be from now on."""


def count_most_pods(actions: Iterable[Asking], pods_by_name: Mapping[str, int]) -> int:
    """Return the most pods that are asked for at a time."""
    demand, most = Demand(pods_by_name), 0
    for action in actions:
        action.ask(demand)
        most = max(most, demand.total)
    return most


def count_most_pods_each(actions: Iterable[Asking], pods_by_name: Mapping[str, int]) -> dict[str, int]:
    """Return the most pods that are asked for at a time, of each."""
    demand, most = Demand(pods_by_name), Counter[str]()
    for action in actions:
        action.ask(demand)
        most |= Counter(demand.asked)
    return dict(most)
