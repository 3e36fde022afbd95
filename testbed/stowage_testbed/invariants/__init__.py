"""What must hold at every moment of a run, whatever went wrong in it.

`check` is one pure function from a history to violations: it runs after every scenario,
and on hand-made bad histories, which prove that each rule can fail.
"""

from stowage_testbed.invariants.history import History, Violation
from stowage_testbed.invariants.rules import check

__all__ = ["History", "Violation", "check"]
