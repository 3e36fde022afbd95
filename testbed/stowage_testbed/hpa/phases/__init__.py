"""FIND and HOLD (second paper, Algorithm 3), and what is to be made of them."""
