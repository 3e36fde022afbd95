"""The schedulers and the optimiser that the tasks of a sweep use."""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

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
