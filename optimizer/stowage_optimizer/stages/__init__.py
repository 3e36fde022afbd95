"""The stages from a problem to an answer."""
