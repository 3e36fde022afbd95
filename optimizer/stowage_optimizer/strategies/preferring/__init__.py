"""Any strategy, with ties between equal plans broken by what pods prefer."""

from stowage_optimizer.strategies.preferring.strategy import Preferring

__all__ = ["Preferring"]
