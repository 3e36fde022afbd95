"""A Docker engine for the length of a command, where a machine runs none."""
