"""The real scheduler without a cluster: its placements, and its judgements of plans."""
