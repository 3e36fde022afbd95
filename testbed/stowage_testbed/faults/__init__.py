"""What goes wrong in a cluster on purpose, when, and what must hold all the same."""
