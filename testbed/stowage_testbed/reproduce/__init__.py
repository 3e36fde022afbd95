"""The papers' evaluations, rebuilt side by side with what was published."""
