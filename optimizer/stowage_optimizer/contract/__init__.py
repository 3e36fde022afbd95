"""The contract with the scheduler: one proto file and what is generated from it."""
