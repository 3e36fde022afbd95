"""Snapshot and plan as frozen dataclasses, and the way from and to the contract."""
