"""One piece of a sweep: it needs no other, and can be carried out anywhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from stowage_testbed.reproduce.sweep.tools import Tools

RowT = TypeVar("RowT")
RowT_co = TypeVar("RowT_co", covariant=True)


class Task(Protocol[RowT_co]):
    """What a worker is sent; it is pickled on the way."""

    @property
    def id(self) -> str:
        """Return its name, which no other task of the sweep has."""
        ...

    def execute(self, tools: Tools) -> tuple[RowT_co, ...]:
        """Return what came of it: the same anywhere, but for times.

        Raises
        ------
        StowageError
            It cannot be done; the others go on.
        """
        ...


@dataclass(frozen=True, slots=True)
class Outcome(Generic[RowT]):
    """A task that is over; ``failure`` is empty where it was carried out."""

    task_id: str
    rows: tuple[RowT, ...] = field(default=())
    failure: str = ""
