"""What may be wrong with a request before anything is solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stowage_optimizer.errors import OptimizerError

SHOWN_FAULTS = 50
"""Faults spelled out in one message; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with the input.

    Parameters
    ----------
    where
        Path of the field, as in ``nodes[3].allocatable.cpu_milli``.
    what
        What is wrong there and what would be right.
    """

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class InvalidInputError(OptimizerError):
    """The snapshot or the options break the contract; carries every fault."""

    exit_code = 2

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        lines = [str(fault) for fault in self.faults[:SHOWN_FAULTS]]
        if len(self.faults) > SHOWN_FAULTS:
            lines.append(f"... and {len(self.faults) - SHOWN_FAULTS} more")
        count = len(self.faults)
        noun = "fault" if count == 1 else "faults"
        super().__init__(f"{count} {noun} in the input\n  " + "\n  ".join(lines))
