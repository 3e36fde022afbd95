"""Watching a cluster from one process, on one clock."""
