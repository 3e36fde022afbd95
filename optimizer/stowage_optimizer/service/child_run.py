"""One solve in a child: its deadlines, its newest answer, its end."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from google.protobuf.message import DecodeError

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.service.settings import READ
from stowage_optimizer.service.updates import last_update
from stowage_optimizer.service.workers import ChildProcess

OVERRUN = "the solver overran its time limit and was killed; this is its best plan"

UNREAD = (
    "the snapshot was not read within {limit_s:.2f} s, and the solver was killed; call "
    "again when the machine is less busy, or send a smaller snapshot"
)


class ChildRun:
    """Reads a child's messages, keeps the newest, and kills the child at its limits.

    There are two: one for reading the request, and from then on that of the solve.

    A thread of its own reads, so that neither a slow client nor a slow check can delay
    the kill. The end is reported as soon as the child is killed: it does no more work,
    but the kernel may take a while to free its memory.

    Parameters
    ----------
    reading_limit_s
        When the child is killed unless it has read the request, in seconds from now.
    time_limit_s, kill_after_s
        The limit that the child gets, and how long after it the child is killed, both
        from the moment when it has read the request.
    on_end
        Called once, when the child works no more.
    prepare
        Called from the end of reading on, to have the next child started; it does not wait for that.
    """

    def __init__(
        self,
        child: ChildProcess,
        request: bytes,
        *,
        reading_limit_s: float,
        time_limit_s: float,
        kill_after_s: float,
        on_end: Callable[[], None],
        prepare: Callable[[], object],
    ) -> None:
        self._child = child
        self._on_end = on_end
        self._prepare = prepare
        self._began = time.monotonic()
        self._reading_limit_s = reading_limit_s
        self._solving_limit_s = time_limit_s + kill_after_s
        self._read_at: float | None = None
        self._on_read: Callable[[], None] = lambda: None
        self._changed = threading.Condition()
        self._newest: pb.SolveUpdate | None = None
        self._best: pb.SolveUpdate | None = None
        self._over = False
        self.killed = self.cancelled = False
        self._thread = threading.Thread(target=self._pump, args=(request, time_limit_s), daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """Kill the child; the last update says `CANCELLED`."""
        self.cancelled = self.cancelled or not self._over
        self._end(self._instead(pb.END_REASON_CANCELLED, "the caller went away"))

    def give_up(self) -> None:
        """Kill the child: it did not answer in time."""
        last = self._instead(pb.END_REASON_TIME_LIMIT, OVERRUN)
        self._end(last, killed=True)

    @property
    def ends_by(self) -> float:
        """When the child is killed at the latest; that is sooner once it has read."""
        read_at = self._read_at
        if read_at is None:
            read_at = self._began + self._reading_limit_s
        return read_at + self._solving_limit_s

    @property
    def read_s(self) -> float:
        """How long the child has taken, or takes by now, to read its request."""
        read_at = self._read_at
        return (time.monotonic() if read_at is None else read_at) - self._began

    def on_read(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` when the request has been read; at once if it has been."""
        with self._changed:
            self._on_read = callback
            if self._read_at is None:
                return
        callback()

    @property
    def over(self) -> bool:
        """Whether the child works no more."""
        return self._over

    def updates(self) -> Iterator[pb.SolveUpdate]:
        """Yield the newest update each time there is one; the last has ``last`` set."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._newest is not None)
                newest, self._newest = self._newest, None
            if newest is not None:
                yield newest
                if newest.last:
                    return

    def _pump(self, request: bytes, time_limit_s: float) -> None:
        # In a thread: a child that hangs reads no more, and sending would never end.
        sending = threading.Thread(target=self._send_request, args=(request, time_limit_s), daemon=True)
        sending.start()
        try:
            last = self._read_messages()
        except Exception as error:  # the thread's edge: the caller must hear something
            last = self._instead(pb.END_REASON_ERROR, f"{type(error).__name__}: {error}")
        if last is not None:
            self._end(last)
        elif self._read_at is None:
            message = UNREAD.format(limit_s=self._reading_limit_s)
            unread = self._instead(pb.END_REASON_TIME_LIMIT, message)
            self._end(unread, killed=True)
        else:
            self.give_up()
        self._prepare()
        sending.join()
        self._child.close()

    def _send_request(self, request: bytes, time_limit_s: float) -> None:
        # The end of the child is noticed where its answers are awaited.
        with suppress(OSError):
            self._child.connection.send_bytes(repr(time_limit_s).encode())
            self._child.connection.send_bytes(request)

    def _read_messages(self) -> pb.SolveUpdate | None:
        """Return the child's last update, or one in its place; None at a limit."""
        connection = self._child.connection
        try:
            while connection.poll(max(0.0, self._next_limit() - time.monotonic())):
                message = connection.recv_bytes()
                # Not before: the child is to have read its request in peace.
                self._prepare()
                if message == READ:
                    self._has_read()
                    continue
                update = pb.SolveUpdate.FromString(message)
                if update.last:
                    # A failure comes without a plan; the one before it may not have been taken yet.
                    return update if update.HasField("plan") else self._instead(update.end_reason, update.message)
                self._take(update)
        except (EOFError, OSError):
            return self._ended()
        except DecodeError as error:
            return self._instead(pb.END_REASON_ERROR, f"the solver's process sent an invalid message: {error}")
        return None

    def _next_limit(self) -> float:
        if self._read_at is None:
            return self._began + self._reading_limit_s
        return self.ends_by

    def _has_read(self) -> None:
        with self._changed:
            # Once only: a child must not delay its end.
            if self._read_at is not None:
                return
            self._read_at = time.monotonic()
            callback = self._on_read
        callback()

    def _ended(self) -> pb.SolveUpdate:
        """Return the last update of a child that ended without one."""
        code = self._child.wait()
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
        return self._instead(
            pb.END_REASON_ERROR,
            f"the solver's process ended {how} before it answered; if memory is short, raise --memory-limit-bytes",
        )

    def _instead(self, reason: pb.EndReason, message: str) -> pb.SolveUpdate:
        return last_update(reason, message, self._best)

    def _take(self, update: pb.SolveUpdate) -> None:
        with self._changed:
            if self._over:
                return
            if update.HasField("plan"):
                self._best = update
            elif self._newest is not None:
                # A plan that has not been taken yet shows progress too.
                return
            self._newest = update
            self._changed.notify_all()

    def _end(self, last: pb.SolveUpdate, *, killed: bool = False) -> None:
        """Kill the child and pass on ``last``, unless the run was over before."""
        with self._changed:
            if self._over:
                return
            self._over, self.killed = True, killed
        self._child.kill()
        # A caller that gets the last update may call again and must find the turn free.
        self._on_end()
        with self._changed:
            self._newest = last
            self._changed.notify_all()
