"""A recovery run on a live cluster."""
