"""The kinds of steps: what each is given in a scenario, and says of itself.

Its effect stands in the file of the same name in `stowage_testbed.run.steps`.
"""
