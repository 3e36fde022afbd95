"""Strategies of the papers and of other solvers, to compare the optimiser with."""
