"""The base of every error that Stowage raises on purpose."""

from __future__ import annotations

RUN_ENDED = 3
"""Exit code of a run that could not go on; it is no verdict on what was run."""


class StowageError(Exception):
    """What went wrong, and the way out.

    Raised where the cause is known. A subclass exists where somebody catches it, or
    where the exit code is another one. The command line prints the message without a
    traceback and exits with ``exit_code``.
    """

    exit_code = 1


class WorkersLostError(StowageError):
    """Nobody answers any more who could say what became of tasks."""

    exit_code = RUN_ENDED


class InputError(StowageError):
    """The input is at fault, and nothing was run."""

    exit_code = 2
