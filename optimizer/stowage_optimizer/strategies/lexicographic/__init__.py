"""The strategy ``lexicographic``: search and proof side by side, tier by tier."""

from stowage_optimizer.strategies.lexicographic.strategy import LexicographicStrategy

__all__ = ["LexicographicStrategy"]
