"""Figures of a run: pure functions of one `RunRecord`, or of one `ClusterState`; `catalogue.metrics_of` yields all."""
