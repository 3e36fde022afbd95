"""Carrying out the steps of a scenario.

A kind of step is carried out by the function with its name, which stands in the file of
the same name as the one in `stowage_testbed.scenario.steps` that declares the kind.
"""
