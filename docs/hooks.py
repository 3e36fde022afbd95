"""The hook of MkDocs: generated pages, and reasons above blocks that no test runs."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_NORUN = re.compile(r'^(\s*```sh) norun="([^"]+)"$', re.M)


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages to those that stand in this folder."""
    # MkDocs does not look for modules in the folder of its configuration.
    sys.path.insert(0, str(ROOT))
    from mkdocs.structure.files import File  # noqa: PLC0415 - a test has no MkDocs

    from docs.tooling.pages import PAGES  # noqa: PLC0415 - only now it can be found

    for place, make in PAGES.items():
        files.append(File.generated(config, place, content=make()))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Show why a block is not run as its title; highlighting knows no other word."""
    return _NORUN.sub(lambda m: f'{m[1]} title="{m[2][0].upper()}{m[2][1:]}"', markdown)
