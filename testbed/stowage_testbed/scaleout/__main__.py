"""The child of a worker: ``python -m stowage_testbed.scaleout FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

from stowage_testbed.scaleout.job import carry_out

if __name__ == "__main__":
    carry_out(Path(sys.argv[1]))
