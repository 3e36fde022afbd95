"""Would the pending pods fit if others moved? Asked of a real cluster, read-only."""
