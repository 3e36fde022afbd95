"""The base of every error that Stowage raises on purpose."""


class StowageError(Exception):
    """What went wrong, and the way out.

    Raised where the cause is known. A subclass exists where somebody catches it, or where the exit code is another one.
    The command line prints the message without a traceback and exits with ``exit_code``.
    """

    exit_code = 1


class RunEndedError(StowageError):
    """What a run needs is gone, so that it cannot go on: no verdict on what was run."""

    exit_code = 3


class InputError(StowageError):
    """The input is at fault, and nothing was run."""

    exit_code = 2
