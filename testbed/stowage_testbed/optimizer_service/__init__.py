"""The optimiser as a process of its own, as it runs beside the scheduler."""
