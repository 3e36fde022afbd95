"""Histories for the rules of what must always hold."""

from histories.broken import BROKEN
from histories.sound import SOUND

__all__ = ["BROKEN", "SOUND"]
