"""From the contract's messages to the model, with every fault reported at once."""

from optimizer.model.decode.options import decode_options
from optimizer.model.decode.snapshot import decode_snapshot

__all__ = ["decode_options", "decode_snapshot"]
