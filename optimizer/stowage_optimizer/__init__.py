"""The optimiser: Snapshot in, Plan out. Knows nothing of a cluster."""
