"""What every kind of step declares.

All data of a kind stands in one class: its settings, from which the schema, the reading
of files and the references to other parts of a scenario are derived; its words; what
can be wrong with it; the pods that it asks for; its deadline. Its effect stands in the
file of the same name in `stowage_testbed.run.steps`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, Self, cast

from stowage_testbed.declaration import form, list_settings, make_object, setting, summarise
from stowage_testbed.scenario.arrivals.trace_file import TraceFile
from stowage_testbed.scenario.document import Place
from stowage_testbed.scenario.issues import DocumentIssue
from stowage_testbed.scenario.steps.demand import Demand

Sort = Literal["applied", "controller", "template", "pods", "phased", "described", "node", "checkpoint"]
"""What a name must be of.

applied: a workload or object. controller: a workload that is applied. template: one
that pods are made like. pods: whatever has pods. phased: what has a phase. described:
what has events.
"""

Names = Annotated[
    tuple[str, ...],
    form(
        name="names",
        written=Annotated[str, form(minLength=1)] | Annotated[tuple[str, ...], form(minItems=1, uniqueItems=True)],
        parse=lambda plain: (plain,) if isinstance(plain, str) else tuple(plain),
    ),
]
"""One name, or some."""

Seconds = Annotated[float, form(name="deadline", exclusiveMinimum=0, maximum=36000)]
"""A deadline in seconds."""

_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Deadline:
    """How long a kind of step may take, where nothing in the file says it.

    Attributes
    ----------
    description
        Of the deadline's entry in `timeouts`.
    base
        Which of the run's deadlines it is.
    words
        How an explanation names it.
    """

    description: str
    base: Literal["check", "lateness", "nodes", "settle"]
    words: str = ", at most {:g} s"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a step's values mean depends on these parts of the file.

    Attributes
    ----------
    controllers
        The workloads that ``all`` stands for.
    traces
        What stands in the traces, by the file's name.
    has_nodes
        Whether it has nodes itself.
    """

    controllers: Sequence[str] = ()
    traces: Mapping[str, TraceFile] = field(default_factory=dict)
    has_nodes: bool = False


@dataclass(frozen=True, slots=True)
class NameUsed:
    """A name that a step uses, with its place inside the step."""

    place: Place
    name: str
    sort: Sort


class Action(ABC):
    """What a step does; each kind is a frozen dataclass of its settings.

    The first paragraph of a kind's docstring is its description in the schema.

    Attributes
    ----------
    kind
        The step's key in a file.
    bare
        Whether the only setting stands at that key itself, without a name.
    keywords
        Of the JSON Schema, over those that the settings give.
    """

    __slots__ = ()

    kind: ClassVar[str]
    bare: ClassVar[bool] = False
    keywords: ClassVar[Mapping[str, Any]] = {}
    deadline: ClassVar[Deadline | None] = None

    @classmethod
    def hint(cls) -> Any:
        """Return the type of what stands at the step's key, and what is said of it."""
        about = setting(summarise(cls), key=cls.kind, **cls.keywords)
        if not cls.bare:
            return Annotated[cls, about]
        (only,) = list_settings(cls)
        return Annotated[only.hint, about]

    @classmethod
    def read(cls, plain: Any, surroundings: Surroundings) -> Self:
        """Return the action of plain values that passed the schema.

        Raises
        ------
        ValueError
            They do not go together.
        """
        del surroundings
        if not cls.bare:
            return make_object(cls, plain)
        (only,) = list_settings(cls)
        return make_object(cls, {only.key: plain})

    @classmethod
    def references(cls, plain: Any) -> Iterator[NameUsed]:
        """Yield the names that a step uses, in order."""
        return list_names_used(cls, plain)

    @classmethod
    def issues(cls, plain: Any) -> Iterator[DocumentIssue]:
        """Yield what is wrong with the settings together; places are the step's own."""
        del plain
        return iter(())

    @abstractmethod
    def in_words(self) -> str:
        """Return what the step does, as a person would say it, with every default."""

    def ask(self, demand: Demand) -> None:
        """Count the pods that there shall be from this step on."""
        del demand

    @property
    def brings(self) -> Iterable[str]:
        """Names that later steps may use."""
        return ()

    @property
    def removes(self) -> Iterable[str]:
        """Names that later steps may not use any more."""
        return ()

    @property
    def changed_nodes(self) -> int:
        """How many nodes it changes, which deadlines grow with."""
        return 0

    @property
    def own_timeout_s(self) -> float | None:
        """The deadline that the step itself names."""
        return None


@dataclass(frozen=True, slots=True)
class Step:
    """A step: its number from 1 and its line in a file, and what it does.

    One that a file implies, and does not have, stands in line 0.
    """

    number: int
    line: int
    action: Action

    @property
    def kind(self) -> str:
        """The step's key."""
        return self.action.kind

    def __str__(self) -> str:
        if not self.line:
            return self.action.in_words()
        return f"step {self.number} ({self.kind}, line {self.line})"

    def in_words(self) -> str:
        """Return what the step does, with its place in the file."""
        words = self.action.in_words()
        return f"{self}: {words}" if self.line else words

    def place(self, *inner: str | int) -> Place:
        """Return where the step stands, or something in it."""
        return ("steps", self.number - 1, self.kind, *inner)


def list_names_used(cls: type[Action], plain: Any) -> Iterator[NameUsed]:
    """Yield the names in the settings of which the declaration says what they name."""
    for one in list_settings(cls):
        if not one.setting.names:
            continue
        place: Place = () if cls.bare else (one.key,)
        value = plain if cls.bare else plain.get(one.key, ())
        sort = cast("Sort", one.setting.names)
        if isinstance(value, str):
            yield NameUsed(place, value, sort)
            continue
        for number, name in enumerate(value):
            yield NameUsed((*place, number), name, sort)


def join_names(names: Sequence[str]) -> str:
    """Return the names in words, the first few of many."""
    if len(names) > _SHOWN:
        return f"{', '.join(names[:_SHOWN])} and {len(names) - _SHOWN} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def show_count(number: int, noun: str) -> str:
    """Return a number of things in words."""
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"
