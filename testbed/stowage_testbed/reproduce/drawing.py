"""How the figures of a reproduction look, and how they come into its page."""

import base64
import io
from typing import Any

from matplotlib.figure import Figure as Drawing

SETTINGS: Any = {
    # The stubs want every key as a literal of theirs.
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    # Letters stay letters, and equal pictures are equal files.
    "svg.fonttype": "none",
    "svg.hashsalt": "stowage",
}


def picture(caption: str, drawing: Drawing) -> tuple[str, str]:
    """Return the caption, and the figure as SVG in base64."""
    content = io.BytesIO()
    drawing.savefig(content, format="svg", metadata={"Date": None})
    return caption, base64.b64encode(content.getvalue()).decode()
