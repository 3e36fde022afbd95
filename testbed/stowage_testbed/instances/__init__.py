"""Generated instances: the paper's grid, and the same with what real clusters add."""
