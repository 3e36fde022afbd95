"""Volumes as folders on the host, one kind a file."""
