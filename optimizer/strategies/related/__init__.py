"""Any strategy, and pods whose demands on other pods it does not know."""

from optimizer.strategies.related.strategy import Related, demanded

__all__ = ["Related", "demanded"]
