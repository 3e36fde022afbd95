"""Objects that the API server takes, that are odd, and that must be in nobody's way."""
