"""One solve in a child: its deadline, its newest answer, its end."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator

from google.protobuf.message import DecodeError

from optimizer.contract import optimizer_pb2 as pb
from optimizer.service.child_process import ChildProcess
from optimizer.service.ending import ending

OVERRUN = "the solver overran its time limit and was killed; this is its best plan"


class Run:
    """Reads what a child says, keeps the newest, and kills it at the limit.

    Reading goes on in a thread of its own, so that neither a slow client nor a slow
    check can put off the kill. The end is told as soon as the child is killed: it does
    no more work, but the kernel may take a while to clear away its memory.

    Parameters
    ----------
    child
        A ready child; the run closes it.
    request
        The contract's `SolveRequest`, serialised.
    time_limit_s, kill_after_s
        What the child is told, and when it is killed, in seconds from now.
    on_end
        Called once, when the child works no more.
    prepare
        Called once, beside the solve, to have the next child ready.
    """

    def __init__(
        self,
        child: ChildProcess,
        request: bytes,
        *,
        time_limit_s: float,
        kill_after_s: float,
        on_end: Callable[[], None],
        prepare: Callable[[], object],
    ) -> None:
        self._child = child
        self._on_end = on_end
        self._prepare = prepare
        self._preparing: threading.Thread | None = None
        self._deadline = time.monotonic() + kill_after_s
        self._changed = threading.Condition()
        self._newest: pb.SolveUpdate | None = None
        self._best: pb.SolveUpdate | None = None
        self._over = False
        self.killed = self.cancelled = False
        self._thread = threading.Thread(
            target=self._pump, args=(request, time_limit_s), daemon=True
        )
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
        try:
            last = self._read(request, time_limit_s)
        except Exception as error:  # the thread's edge: the caller must hear something
            last = self._instead(
                pb.END_REASON_ERROR, f"{type(error).__name__}: {error}"
            )
        if last is None:
            self.give_up()
        else:
            self._end(last)
        self._have_the_next_ready()
        self._child.close()

    def _have_the_next_ready(self) -> None:
        if self._preparing is None:
            self._preparing = threading.Thread(target=self._prepare, daemon=True)
            self._preparing.start()

    def _read(self, request: bytes, time_limit_s: float) -> pb.SolveUpdate | None:
        """Return the child's last update, or one in its place; None at the limit."""
        connection = self._child.connection
        try:
            connection.send_bytes(repr(time_limit_s).encode())
            connection.send_bytes(request)
            while connection.poll(max(0.0, self._deadline - time.monotonic())):
                update = pb.SolveUpdate.FromString(connection.recv_bytes())
                # Not before: the child is to have read its request in peace.
                self._have_the_next_ready()
                if update.last:
                    return update
                self._take(update)
        except (EOFError, OSError):
            return self._ended()
        except DecodeError as error:
            return self._instead(
                pb.END_REASON_ERROR, f"the solver's process talks nonsense: {error}"
            )
        return None

    def _ended(self) -> pb.SolveUpdate:
        """Return the last update of a child that ended without one."""
        code = self._child.wait()
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
        return self._instead(
            pb.END_REASON_ERROR,
            f"the solver's process ended {how} before it answered; if memory is "
            "short, raise --memory-limit-bytes",
        )

    def _instead(self, reason: pb.EndReason, message: str) -> pb.SolveUpdate:
        return ending(reason, message, self._best)

    def _take(self, update: pb.SolveUpdate) -> None:
        with self._changed:
            if self._over:
                return
            if update.HasField("plan"):
                self._best = update
            elif self._newest is not None:
                # A plan that nobody has looked at yet tells of progress too.
                return
            self._newest = update
            self._changed.notify_all()

    def _end(self, last: pb.SolveUpdate, *, killed: bool = False) -> None:
        """Kill the child and tell ``last``, unless the run was over before."""
        with self._changed:
            if self._over:
                return
            self._over, self.killed = True, killed
        self._child.kill()
        # Whoever hears the last update may call again and must find the turn free.
        self._on_end()
        with self._changed:
            self._newest = last
            self._changed.notify_all()
