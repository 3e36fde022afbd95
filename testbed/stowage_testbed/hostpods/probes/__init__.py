"""Probes: four ways to ask a container, and when to believe the answer."""
