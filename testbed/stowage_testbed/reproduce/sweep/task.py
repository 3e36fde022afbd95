"""One piece of a sweep: it needs no other, and can be carried out anywhere."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic, Protocol, TypeVar

import yaml

from stowage_testbed.base.errors import StowageError
from stowage_testbed.optimizer_service.service import RunningService, running_service
from stowage_testbed.simulate import Simulator, find_profile


class Tools(ExitStack):
    """Started when they are first asked for, ended with the ``with`` block.

    A solve may use so many cores; 0 stands for all.
    """

    def __init__(self, cores: int = 0) -> None:
        super().__init__()
        self.cores = cores or os.cpu_count() or 1

    @cached_property
    def deterministic(self) -> Simulator:
        """The scheduler of the deterministic profile, which never preempts."""
        return self.enter_context(Simulator(find_profile("deterministic")))

    @cached_property
    def stock(self) -> Simulator:
        """The stock scheduler, with preemption, that takes one node after the other.

        Side by side, its goroutines put nodes into an order of their own, which decides
        ties.
        """
        folder = self.enter_context(TemporaryDirectory(prefix="sto-stock-"))
        profile = yaml.safe_load(find_profile("default").read_text(encoding="utf-8"))
        path = Path(folder) / "stock.yaml"
        path.write_text(yaml.safe_dump({**profile, "parallelism": 1}), encoding="utf-8")
        return self.enter_context(Simulator(path))

    @cached_property
    def service(self) -> RunningService:
        """The optimiser's service."""
        return self.enter_context(running_service())

    def renew(self) -> None:
        """End everything; what is asked for next is started again."""
        self.close()
        for name in ("deterministic", "stock", "service"):
            self.__dict__.pop(name, None)


RowT = TypeVar("RowT")
RowT_co = TypeVar("RowT_co", covariant=True)


class Task(Protocol[RowT_co]):
    """What a worker is sent; it is pickled on the way."""

    @property
    def id(self) -> str:
        """Return its name, which no other task of the sweep has."""
        ...

    def execute(self, tools: Tools) -> tuple[RowT_co, ...]:
        """Return what came of it: the same anywhere, but for times."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome(Generic[RowT]):
    """A task that is over; ``failure`` is empty where it was carried out."""

    task_id: str
    rows: tuple[RowT, ...] = field(default=())
    failure: str = ""


def attempt(task: Task[RowT], tools: Tools) -> Outcome[RowT]:
    """Return the task's rows, or why there are none.

    A process that failed one task is not trusted with the next.
    """
    try:
        return Outcome(task.id, task.execute(tools))
    except StowageError as error:
        tools.renew()
        return Outcome(task.id, failure=str(error))
