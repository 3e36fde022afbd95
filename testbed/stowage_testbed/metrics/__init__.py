"""Figures of a run: pure functions of one `RunRecord`, or of one `ClusterState`."""
