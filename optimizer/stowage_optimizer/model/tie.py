"""What ties pods to each other beyond room: relations, disruption budgets, limits.

Strategies and bounds know nothing of ties. A bound on the problem without them holds for
every plan that keeps them, whatever they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from stowage_optimizer.model.packing import Assignment, Packing
    from stowage_optimizer.model.time_budget import TimeBudget

Terms = Sequence[tuple[int, int]]
"""A sum: pairs of variable and coefficient."""

Values = Sequence[int]
"""The value of each variable."""

Pins = Mapping[int, Collection[int]]
"""Nodes that an item is kept to, besides its own; with none of them it stays as it is."""

STAYS: frozenset[int] = frozenset()
"""The nodes of an item that stays as it is."""


@dataclass(frozen=True, slots=True)
class Leaving:
    """Running items without a node that belong together.

    They are displaced unjustly only if so many of them could stay at home beside each other.
    """

    items: Sequence[int]
    needed: int


class Tie(ABC):
    """Some pods whose places depend on each other.

    `stowage_optimizer.ties.registry` lists what makes the ties of a problem.
    """

    divisible: ClassVar[bool] = False
    """Whether a part of a plan that keeps the tie keeps it too."""

    native: ClassVar[bool] = False
    """Whether strategies keep it by themselves."""

    requested: bool = False
    """Whether the request asks for it, and not the cluster: what is proved holds without it."""

    protected: Collection[int] = ()
    """Items that need not make way for an evicted pod, as long as they stay."""

    partial: ClassVar[bool] = False
    """Whether `write` can do without the pods of lower tiers."""

    gregarious: ClassVar[bool] = False
    """Whether plans that are made without the tie are mostly far from keeping it."""

    rows: int = 0
    """About how many rows `write` adds, where they are more than pairs of pod and node."""

    @abstractmethod
    def keeps(self, packing: Packing, assignment: Assignment) -> bool:
        """Return whether ``assignment`` can be carried out as far as this tie goes."""

    @abstractmethod
    def repaired(self, packing: Packing, assignment: Assignment, budget: TimeBudget) -> Assignment:
        """Return an assignment near ``assignment`` that keeps the tie.

        It needs no room that there is not, if ``assignment`` does not.
        """

    def preempting(
        self, packing: Packing, assignment: Assignment, budget: TimeBudget, rng: Random | None
    ) -> Assignment:
        """Return an assignment near ``assignment`` in which pods that wait together take the place of lower priorities.

        Other ties it need not keep. An ``rng`` draws who comes first.
        """
        del packing, budget, rng
        return assignment

    @abstractmethod
    def pinned(self, packing: Packing, proposal: Assignment, budget: TimeBudget, rng: Random | None) -> Pins:
        """Return to which nodes to keep items so that an answer is likely to keep the tie.

        Parameters
        ----------
        proposal
            The pins are those near to it; with an ``rng`` they are drawn, so that no two answers are the same.
        """

    @abstractmethod
    def write(self, packing: Packing, rows: Rows) -> None:
        """Write what every assignment meets that keeps the tie."""

    @abstractmethod
    def part(self, packing: Packing, members: Sequence[int], assignment: Assignment) -> Tie | None:
        """Return what is left for ``members`` beside the others as in ``assignment``; or nothing."""

    def counts(self, packing: Packing) -> Counts | None:
        """Return what counts pods as they come, if it matters in which order they do."""
        del packing
        return None

    def leaving(self, packing: Packing, assignment: Assignment) -> Iterator[Leaving]:
        """Yield the items that are displaced together."""
        del packing, assignment
        yield from ()


def keeps_ties(packing: Packing, assignment: Assignment) -> bool:
    """Return whether ``assignment`` keeps every tie of ``packing``."""
    return all(tie.keeps(packing, assignment) for tie in packing.ties)


class Counts(Protocol):
    """The pods that are there, for a tie that decides which ones may come."""

    def add(self, item: int, node: int, sign: int) -> None:
        """Count ``item`` on ``node``; with a ``sign`` of -1, no more."""
        ...

    def fits(self, item: int, node: int) -> bool:
        """Return whether ``item`` may be on ``node``: once it may not, more pods do not help."""
        ...

    def allows(self, item: int, node: int) -> bool:
        """Return whether ``item`` may come to ``node`` now."""
        ...


class Program(Protocol):
    """An integer program with variables from 0 to ``upper``."""

    upper: list[int]

    def variable(self, upper: int = 1) -> int:
        """Return a new variable."""
        ...

    def at_most(self, terms: Terms, limit: int) -> None:
        """Keep the sum of ``terms`` at ``limit`` or below."""
        ...

    def between(self, terms: Terms, lower: int, upper: int) -> None:
        """Keep the sum of ``terms`` from ``lower`` to ``upper``."""
        ...


class KindVariables(Protocol):
    """Pods of one kind and class: how many stay on or come to each node, and how many move."""

    stay: dict[int, int]
    come: dict[int, int]
    moved: int

    @property
    def running(self) -> int:
        """How many run now."""
        ...

    @property
    def size(self) -> int:
        """How many there are."""
        ...

    @property
    def demand(self) -> Sequence[int]:
        """What each of them asks for."""
        ...


@dataclass(slots=True)
class Rows:
    """A program in which pods are counted by class and node, and to which ties add rows.

    Parameters
    ----------
    kinds
        The variables by class.
    missing
        Pods that the program does not have, by class.
    """

    program: Program
    kinds: Mapping[str, Sequence[KindVariables]]
    missing: Mapping[str, int]
    _derived: list[tuple[int, Callable[[Values], int]]] = field(init=False, default_factory=list)

    def derived(self, value: Callable[[Values], int], upper: int = 1) -> int:
        """Return a new variable that is what ``value`` makes of those before."""
        variable = self.program.variable(upper)
        self._derived.append((variable, value))
        return variable

    def total_of(self, variables: Iterable[int], upper: int) -> int:
        """Return a new variable that is the sum of ``variables``."""
        some = tuple(variables)
        found = self.derived(lambda values: sum(values[one] for one in some), upper)
        self.program.between([*((one, 1) for one in some), (found, -1)], 0, 0)
        return found

    def any_of(self, variables: Iterable[int]) -> int:
        """Return a new variable that is 1 if any of ``variables`` is more than 0."""
        some = tuple(variables)
        found = self.derived(lambda values: any(values[one] for one in some))
        for one in some:
            self.program.at_most([(one, 1), (found, -self.program.upper[one])], 0)
        return found

    def most(self, terms: Terms) -> int:
        """Return a limit on the sum of ``terms``, whose coefficients are positive."""
        return sum(times * self.program.upper[variable] for variable, times in terms)

    def complete(self, values: list[int]) -> None:
        """Set the variables of ``values`` that others decide about."""
        for variable, value in self._derived:
            values[variable] = int(value(values))
