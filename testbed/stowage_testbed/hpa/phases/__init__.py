"""FIND and HOLD (second paper, Algorithm 3), and what they mean."""
