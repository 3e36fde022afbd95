"""What every kind of step is: a frozen dataclass of its settings, with the method that carries it out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, get_type_hints

from stowage_testbed.scenario.types import Of, Sort, key_of

if TYPE_CHECKING:
    from stowage_testbed.scenario.steps.context import StepContext

Key = str | int
Where = tuple[Key, ...]  # Where a value stands in its file: keys and list indices from the root
_SHOWN = 6


class Demand(Counter[str]):
    """What the steps have brought, and how many pods each asks for, done ones too; so many come with each name."""

    def __init__(self, pods_by_name: Mapping[str, int]) -> None:
        super().__init__()
        self._pods_by_name = pods_by_name

    def apply(self, names: Iterable[str]) -> None:
        """Add the pods that come with each of these."""
        for name in names:
            self[name] += self._pods_by_name.get(name, 0)


class Action(ABC):
    """What a step does; a kind's docstring describes it to authors of scenarios."""

    __slots__ = ()

    kind: ClassVar[str]  # The step's key in a file
    bare: ClassVar[bool] = False  # Whether the first setting stands at that key itself, without a name
    # Which of the run's deadlines it has, where nothing in the file says it.
    deadline: ClassVar[Literal["check", "lateness", "nodes", "settle"] | None] = None

    @abstractmethod
    def carry_out(self, context: StepContext) -> None:
        """Do it, and return when it is done; a StowageError says why it cannot be."""

    def in_words(self) -> str:
        """Return the step as a file has it, without what is as it always is."""
        said = write_plain(self)
        return f"{self.kind}: {_show(next(iter(said.values()), '') if self.bare else said)}"

    def uses(self) -> Iterator[tuple[Where, str, Sort]]:
        """Yield the names that it uses, each with the setting that has it, as its place inside the step."""
        for field, sort in _list_named(type(self)):
            value = getattr(self, field)
            for name in (value,) if isinstance(value, str) else value:
                if name:
                    yield () if self.bare else (key_of(field),), name, sort

    def ask(self, demand: Demand) -> None:
        """Add the names that later steps may use, drop those they may not, and count the pods that there shall be."""
        del demand

    @property
    def changed_nodes(self) -> int:
        """How many nodes it changes, which deadlines grow with."""
        return 0


@dataclass(frozen=True, slots=True)
class Step:
    """A step: its number from 1, its line in a file, 0 for one that the file implies, and what it does."""

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

    def place(self, *inner: Key) -> Where:
        """Return where the step stands, or something in it."""
        return ("steps", self.number - 1, self.kind, *inner)


ActionT = TypeVar("ActionT", bound=Action)


def actions_of(steps: Iterable[Step], kind: type[ActionT]) -> Iterator[ActionT]:
    """Yield what the steps of one kind do."""
    return (step.action for step in steps if isinstance(step.action, kind))


def write_plain(one: Any) -> dict[str, Any]:
    """Return a dataclass' fields that differ from their defaults, by the words for them."""
    said = {}
    for field in fields(one):
        default = field.default if field.default_factory is MISSING else field.default_factory()
        if field.repr and (value := getattr(one, field.name)) != default:
            said[key_of(field.name)] = _plain(value)
    return said


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return write_plain(value) if is_dataclass(value) else value


def join_names(names: Sequence[str]) -> str:
    """Return the names in words, the first few of many."""
    if len(names) > _SHOWN:
        return f"{', '.join(names[:_SHOWN])} and {len(names) - _SHOWN} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def count_most_pods(actions: Iterable[Action], pods_by_name: Mapping[str, int]) -> tuple[int, dict[str, int]]:
    """Return the most pods that are asked for at a time, of all and of each."""
    demand, most, most_each = Demand(pods_by_name), 0, Counter[str]()
    for action in actions:
        action.ask(demand)
        most = max(most, demand.total())
        most_each |= demand
    return most, dict(most_each)


def check_stable(stable_s: float, timeout_s: float | None) -> None:
    """A state cannot be stable for longer than is waited for it."""
    if timeout_s is not None and stable_s >= timeout_s:
        raise ValueError(f"`stable_s` {stable_s:g} is not below timeout_s {timeout_s:g}; change one of them")


@cache
def _list_named(cls: type[Action]) -> list[tuple[str, Sort]]:
    """Return the fields of which the type says what they name."""
    hints = get_type_hints(cls, include_extras=True)
    return [
        (field, about.sort)
        for field, hint in hints.items()
        for about in getattr(hint, "__metadata__", ())
        if isinstance(about, Of)
    ]


def _show(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_show(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        items = [*map(_show, value[:_SHOWN]), *(["..."] if len(value) > _SHOWN else [])]
        return items[0] if len(value) == 1 else f"[{', '.join(items)}]"
    return str(value).lower() if isinstance(value, bool) else str(value)
