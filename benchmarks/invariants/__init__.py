"""What it takes to check the invariants of a large run: seconds and memory."""
