"""Hours of mixed load and faults on one cluster: what grows, and what goes wrong."""
