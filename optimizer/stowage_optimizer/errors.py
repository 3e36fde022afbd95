"""The base of every error that the optimiser raises on purpose."""

from __future__ import annotations


class OptimizerError(Exception):
    """What went wrong, and the way out.

    Each cause has one subclass, in the ``errors.py`` of its room. The command line
    prints the message without a traceback and exits with ``exit_code``.
    """

    exit_code = 1
