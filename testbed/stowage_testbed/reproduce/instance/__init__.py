"""Instances and solves as rows, whatever evaluation they are of."""
