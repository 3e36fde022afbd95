"""Algorithm 1 as integer programs: one loop, two formulations, three solvers."""
