"""What must hold at every moment of a run: `check`, a pure function from a history to violations."""

from stowage_testbed.invariants.history import History, Violation
from stowage_testbed.invariants.rules import check

__all__ = ["History", "Violation", "check"]
