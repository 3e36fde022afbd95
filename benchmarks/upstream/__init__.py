"""The scheduler before upstream's own judges: its benchmarks, from its own module."""
