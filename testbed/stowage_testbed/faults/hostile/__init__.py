"""An optimiser that lies: what a compromised or broken one could answer, on demand."""
