"""Searching for better assignments: flat arrays, compiled loops, anytime answers."""
