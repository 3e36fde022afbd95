"""One solve at a time: whose turn it is, and how many may wait."""

import threading
from collections import deque

from stowage_optimizer.service.errors import CallRefusedError


class CallQueue:
    """A bounded queue in order of arrival.

    Parameters
    ----------
    queue_length
        Callers that may wait while another has its turn.
    """

    def __init__(self, queue_length: int) -> None:
        self._queue_length = queue_length
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()
        self._taken = False

    def take(self, timeout_s: float, left: threading.Event) -> None:
        """Return when it is the caller's turn, which must be given back.

        Parameters
        ----------
        timeout_s
            How long the caller may wait.
        left
            Set when the caller has gone away; `wake` must be called then.

        Raises
        ------
        CallRefusedError
            Too many wait already, the time passed, or the caller went away.
        """
        with self._changed:
            busy = self._taken or self._waiting
            if busy and len(self._waiting) >= self._queue_length:
                raise CallRefusedError(
                    "RESOURCE_EXHAUSTED",
                    f"a solve is running and {self._queue_length} calls wait already; call again when one has ended",
                )
            me = object()
            self._waiting.append(me)
            try:
                self._changed.wait_for(lambda: left.is_set() or self._is_next(me), timeout_s)
                if left.is_set():
                    raise CallRefusedError("CANCELLED", "the caller went away, or the service stops; call again")
                if not self._is_next(me):
                    raise CallRefusedError(
                        "RESOURCE_EXHAUSTED",
                        f"another solve was still running after the {timeout_s:g} s of "
                        "this call's time limit; call again when it has ended",
                    )
                self._taken = True
            finally:
                self._waiting.remove(me)
                self._changed.notify_all()

    def give_back(self) -> None:
        """End the turn."""
        with self._changed:
            self._taken = False
            self._changed.notify_all()

    def wake(self) -> None:
        """Let every waiting call check whether its caller has gone away."""
        with self._changed:
            self._changed.notify_all()

    def _is_next(self, me: object) -> bool:
        return not self._taken and self._waiting[0] is me
