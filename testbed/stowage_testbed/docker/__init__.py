"""Docker: the engine that is there, or one of our own for the length of a command."""
