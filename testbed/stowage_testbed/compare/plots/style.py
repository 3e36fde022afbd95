"""The style of the plots: the page's colours, and dashes for printing in grey."""

from __future__ import annotations

from typing import Any

COLOURS = (
    "#1f6fb4", "#c45100", "#00805c", "#8b4bb3",
    "#b8336a", "#7a5a1e", "#007a87", "#4b5563",
)  # fmt: skip
DASHES = (
    "-",
    "--",
    ":",
    "-.",
    (0, (4, 2)),
    (0, (12, 4)),
    (0, (2, 6)),
    (0, (6, 2, 2, 2)),
)

SETTINGS: Any = {
    # The stubs want every key as a literal of theirs.
    # Names of arms are names, also where they hold a dollar sign.
    "text.parse_math": False,
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    # Letters stay letters, and equal pictures are equal files.
    "svg.fonttype": "none",
    "svg.hashsalt": "stowage",
}

SIZE_INCHES = (5.5, 3.4)
DOTS_PER_INCH = 200
"""Of the PNG."""
