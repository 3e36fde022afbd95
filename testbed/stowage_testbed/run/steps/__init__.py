"""Carrying out the steps of a scenario, one file for what belongs together."""
