"""`compile`: compile the hot loops now, so that the service starts quickly."""

import argparse
import gc
import os
from collections.abc import Sequence
from pathlib import Path

from stowage_optimizer.search.cache import VARIABLE, BackgroundCompiler, forget_others
from stowage_optimizer.service.warmup import warm_up, warm_up_devices


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    argparse.ArgumentParser(
        prog="stowage-optimizer compile", description="Compile the hot loops, unless that was done before."
    ).parse_args(arguments)
    gc.disable()
    warm_up(BackgroundCompiler())
    warm_up_devices()
    forget_others(Path(os.environ[VARIABLE]))
    return 0
