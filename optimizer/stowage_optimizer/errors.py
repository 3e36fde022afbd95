"""The base of every error that the optimiser raises on purpose."""

INVALID_INPUT = 2
"""Exit code where a file or an option is at fault."""

REFUSED = 3
"""Exit code where a plan breaks rules."""


class OptimizerError(Exception):
    """What went wrong, and the way out.

    The command line prints the message without a traceback and exits with
    ``exit_code``. A subclass exists where somebody must tell it from the others.
    """

    exit_code = 1

    def __init__(self, message: str, *, exit_code: int | None = None) -> None:
        super().__init__(message)
        if exit_code is not None:
            self.exit_code = exit_code
