"""When pods come and how long they run: drawn from a seed, or recorded."""
