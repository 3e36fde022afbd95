"""The benchmark of comparisons: every arm in every burst, and what measuring costs."""
