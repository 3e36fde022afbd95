"""What the optimiser answers, how well and how fast."""
