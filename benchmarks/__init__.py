"""Stowage's own benchmarks: what it measures of itself, and nobody else needs."""
