"""Many independent tasks, on one machine or on many; what is done is never lost."""
