"""Carrying a comparison out: arms in turn, round by round, on one cluster."""
