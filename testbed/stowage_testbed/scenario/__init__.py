"""Scenarios: what is put on a cluster, and what must come of it."""
