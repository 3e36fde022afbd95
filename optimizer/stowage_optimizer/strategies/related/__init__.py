"""Any strategy, extended to pods with relations to other pods."""

from stowage_optimizer.strategies.related.strategy import Related, demanded

__all__ = ["Related", "demanded"]
