"""Tables and figures of an evaluation, as files and for a terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stowage_testbed.base.whole_file import write_whole
from stowage_testbed.text.figure import Figure, table
from stowage_testbed.text.markdown import markdown_text
from stowage_testbed.text.table import Table
from stowage_testbed.text.terminal import terminal_text
from stowage_testbed.toolchain.environment import environment

TABLES = "tables.md"


def write_tables(
    folder: Path, figures_file: Path, tables: Sequence[Table], figures: Sequence[Figure], facts: Mapping[str, Any]
) -> str:
    """Write tables to a folder, and figures to a file, as JSON.

    There the ``facts`` of the run stand beside those of the machine. Returns what a
    terminal shows.
    """
    write_whole(folder / TABLES, markdown_text(tables))
    return f"{terminal_text(tables)}\n\n{write_figures(figures_file, figures, facts)}"


def write_figures(path: Path, figures: Sequence[Figure], facts: Mapping[str, Any], **details: Any) -> str:
    """Write figures as JSON, with the details of a run; return them as a table."""
    content = {"environment": {**environment(), **facts}, "figures": [one.document() for one in figures], **details}
    write_whole(path, json.dumps(content, indent=1) + "\n")
    return f"{table(figures)}\n\nfigures: {path}"
