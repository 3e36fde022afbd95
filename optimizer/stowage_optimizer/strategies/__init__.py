"""The ways to find a plan, one file (or folder) a strategy."""
