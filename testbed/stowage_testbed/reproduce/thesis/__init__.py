"""The evaluation of "Scheduling Optimization in Kubernetes", seed 002: solvers."""
