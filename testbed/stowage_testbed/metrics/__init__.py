"""Figures of a settled cluster: pure functions of one `ClusterState`."""
