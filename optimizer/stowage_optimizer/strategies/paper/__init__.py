"""The paper's Algorithm 1 on CP-SAT."""

from stowage_optimizer.strategies.paper.algorithm import PaperStrategy

__all__ = ["PaperStrategy"]
