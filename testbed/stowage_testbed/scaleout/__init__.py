"""Scenario runs and comparisons on many workers, each with a cluster of its own."""
