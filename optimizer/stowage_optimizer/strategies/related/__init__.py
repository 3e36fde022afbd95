"""Any strategy, and pods whose demands on other pods it does not know."""

from stowage_optimizer.strategies.related.strategy import Related, demanded

__all__ = ["Related", "demanded"]
