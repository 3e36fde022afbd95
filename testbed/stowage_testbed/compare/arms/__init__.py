"""The shipped arms, one file a scheduler, and what they share; see `run.arm.Arm`."""
