"""Which nodes could be emptied, what that saves, and how sure it is; read-only."""
