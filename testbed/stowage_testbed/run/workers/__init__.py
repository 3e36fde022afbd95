"""Scenarios side by side: processes with a cluster each, and the parent of all."""
