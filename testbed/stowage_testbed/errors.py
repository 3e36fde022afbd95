"""The base of every error that Stowage raises on purpose."""

from __future__ import annotations

RUN_ENDED = 3
"""Exit code of a run that could not go on; it is no verdict on what was run."""


class StowageError(Exception):
    """What went wrong, and the way out.

    A cause has a class of its own only where somebody catches it by name. The command
    line prints the message without a traceback and exits with ``exit_code``.
    """

    exit_code = 1


class InputError(StowageError):
    """The input is at fault, and nothing was run."""

    exit_code = 2
