"""The thesis's own counts, with where they stand.

Seed 002: Canova, "Scheduling Optimization in Kubernetes", section 4.4.
"""

from __future__ import annotations

BINS = (4, 8, 16, 32)
PODS_PER_BIN = (4, 8)
PRIORITIES = (2, 5)
RATIOS_PERCENT = (80, 90, 100, 110)
LIMITS_S = (1.0, 10.0)
SAMPLE = 50
"""Seeds a cell (section 4.4); with both limits, 6,400 runs of each solver."""

Z3_BETTER, OR_TOOLS_BETTER, SAME = 23, 3395, 2982
"""Equations 4.1 to 4.3; where pods are alike the faster solver counts as better."""
