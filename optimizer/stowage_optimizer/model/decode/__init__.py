"""From the contract's messages to the model, with every issue reported at once."""

from stowage_optimizer.model.decode.options import decode_options
from stowage_optimizer.model.decode.snapshot import decode_snapshot

__all__ = ["decode_options", "decode_snapshot"]
