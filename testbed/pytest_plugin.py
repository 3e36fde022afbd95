"""Fixtures that other projects use to run their tests on a Stowage cluster."""
