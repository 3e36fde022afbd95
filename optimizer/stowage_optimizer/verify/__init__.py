"""The independent checker: reads the contract's messages by itself.

It shares no code with the model, the constraints or the strategies, so that one
mistake cannot hide another.
"""

from stowage_optimizer.verify.checker import verify_plan
from stowage_optimizer.verify.violation import Violation

__all__ = ["Violation", "verify_plan"]
