"""Scenarios side by side: processes with a cluster each, which one process directs."""
