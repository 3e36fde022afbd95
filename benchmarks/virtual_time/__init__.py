"""A day of arrivals in virtual time."""
