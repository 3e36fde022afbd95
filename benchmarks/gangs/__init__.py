"""Gangs: plans beside the stock scheduler's workload-aware preemption."""
