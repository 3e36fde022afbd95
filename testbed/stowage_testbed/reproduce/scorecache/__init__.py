"""The evaluation of the score cache, seed 003: a burst, and recoveries."""
