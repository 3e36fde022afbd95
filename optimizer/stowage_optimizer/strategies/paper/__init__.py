"""The paper's Algorithm 1 on CP-SAT."""
