"""The scheduler's replay and the optimiser's checker agree about plans.

Neither shares code with the other. Where both accept or both refuse 10,000 random
plans, one of them would have to be wrong in the same way as the other.
"""
