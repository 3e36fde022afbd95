"""Plans on live clusters of 100 to 5,000 fake nodes, at the scheduler's own limits."""
