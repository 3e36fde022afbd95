"""The testbed: real control plane, fake nodes, scenarios, measuring."""
