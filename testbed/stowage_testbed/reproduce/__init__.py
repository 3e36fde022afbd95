"""The papers' evaluations, rebuilt side by side with what was published.

`rebuilding.Rebuilding` is what an evaluation of instances and solvers is: see `paper` and `thesis`. `boreas` deploys on
a cluster, `scorecache` compares schedulers.
"""
