"""Stowage's own benchmarks: what it measures of itself, and users do not need."""
