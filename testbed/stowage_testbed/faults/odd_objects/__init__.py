"""Odd objects that the API server accepts and that must not affect other pods."""
