"""What a worker keeps running between tasks: the schedulers and the optimiser."""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

import yaml

from stowage_testbed.optimizer_service.service import RunningService, running_service
from stowage_testbed.simulate import Simulator, profile_file


class Tools:
    """Started when they are first asked for, ended with the ``with`` block.

    Parameters
    ----------
    cores
        That one solve may use; 0 stands for all.
    """

    def __init__(self, cores: int = 0) -> None:
        self.cores = cores or os.cpu_count() or 1
        self._open = ExitStack()

    def __enter__(self) -> Self:
        """Start nothing yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End what was started."""
        self._open.close()

    @cached_property
    def deterministic(self) -> Simulator:
        """The scheduler of the deterministic profile, which never preempts."""
        return self._open.enter_context(Simulator(profile_file("deterministic")))

    @cached_property
    def stock(self) -> Simulator:
        """The stock scheduler, with preemption, that takes one node after the other.

        Side by side, its goroutines put nodes into an order of their own, which decides
        ties.
        """
        folder = self._open.enter_context(TemporaryDirectory(prefix="sto-stock-"))
        profile = yaml.safe_load(profile_file("default").read_text(encoding="utf-8"))
        path = Path(folder) / "stock.yaml"
        path.write_text(yaml.safe_dump({**profile, "parallelism": 1}), encoding="utf-8")
        return self._open.enter_context(Simulator(path))

    @cached_property
    def service(self) -> RunningService:
        """The optimiser's service."""
        return self._open.enter_context(running_service())

    def renew(self) -> None:
        """End everything; what is asked for next is started again."""
        self._open.close()
        self._open = ExitStack()
        for name in ("deterministic", "stock", "service"):
            self.__dict__.pop(name, None)
