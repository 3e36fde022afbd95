"""runc, asked for one capability fewer: a program of its own, without this package.

On a machine that withholds CAP_SYS_RESOURCE even from root, runc cannot start any
container that asks for it, as privileged ones do, which kind needs. Here it is struck
from what is asked for; nobody gets more than before.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import pairwise
from pathlib import Path

WITHHELD = "CAP_SYS_RESOURCE"


def without_capability(document: dict[str, object]) -> dict[str, object]:
    """Return an OCI configuration, or the process of one, that does not ask for it."""
    process = document.get("process", document)
    capabilities = process.get("capabilities") if isinstance(process, dict) else None
    for names in (capabilities or {}).values():
        if WITHHELD in names:
            names.remove(WITHHELD)
    return document


def named_files(arguments: list[str]) -> list[Path]:
    """Return the files with capabilities that a command line of runc names."""
    files = []
    for option, value in pairwise(arguments):
        if option in {"--bundle", "-b"}:
            files.append(Path(value) / "config.json")
        elif option in {"--process", "-p"}:
            files.append(Path(value))
    return [file for file in files if file.is_file()]


def main(arguments: list[str]) -> None:
    """Become runc."""
    runc, *rest = arguments
    for file in named_files(rest):
        document = json.loads(file.read_text("utf-8"))
        file.write_text(json.dumps(without_capability(document)), encoding="utf-8")
    os.execv(runc, [runc, *rest])  # noqa: S606 - there is no shell


if __name__ == "__main__":
    main(sys.argv[1:])
