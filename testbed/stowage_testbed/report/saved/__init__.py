"""A run as its results bundle holds it, long after its cluster is gone."""
