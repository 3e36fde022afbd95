"""Benchmarks of the optimiser: instances, calls to the real service, figures."""
