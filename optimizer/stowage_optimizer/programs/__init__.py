"""Integer programs over pods and nodes, and the solvers that they are given to."""
