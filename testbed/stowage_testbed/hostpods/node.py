"""What a node's kubelet works with: the API server, time, back-off, and why a pod has to wait."""

import asyncio
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

from stowage_testbed.api.client import JSON, ApiRefusedError, ApiUnreachableError, ask, new_api_client
from stowage_testbed.base.errors import StowageError

Manifest = Mapping[str, Any]
"""One decoded JSON object. A kubelet passes objects on; it does not own their model."""

REQUEST_TIMEOUT_S = 60.0
SHORT_UID = 8


def short_uid(pod: Manifest) -> str:
    """Return what of the pod's UID names its folder: short, for the paths of Unix sockets have 108 bytes at most."""
    return str(pod["metadata"]["uid"])[:SHORT_UID]


def pod_key(pod: Manifest) -> str:
    """Return ``namespace/name``, for logs and messages."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


class ApiServer:
    """A connection with the daemon's own credentials; pods never get them."""

    def __init__(self, kubeconfig: Path) -> None:
        self.client = new_api_client(kubeconfig)

    @property
    def url(self) -> str:
        """The server's address as the kubeconfig has it."""
        return str(self.client.configuration.host)

    async def call(
        self,
        method: str,
        path: str,
        body: Manifest | None = None,
        *,
        content: str = JSON,
        allowed: Collection[int] = (),
    ) -> Manifest:
        """Return the object in the answer to a request; empty where the server refused with a status ``allowed``.

        Raises `ApiRefusedError` when the server said no, `ApiUnreachableError` when it said nothing.
        """
        what = f"{method} {path}"

        def answer() -> Manifest:
            return ask(
                self.client, method, path, what, body, timeout_s=REQUEST_TIMEOUT_S, content=content, allowed=allowed
            )

        try:
            return await asyncio.to_thread(answer)
        except ApiRefusedError as error:
            if error.status == HTTPStatus.TOO_MANY_REQUESTS or error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise ApiUnreachableError(what, f"{error.status}: {error.body}") from error
            raise
        except ValueError as error:  # half an answer
            raise ApiUnreachableError(what, str(error)) from error


class HostPodsError(StowageError):
    """Something without which a pod cannot go on; a waiting container's status shows ``reason``."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


class LoopClock:
    """The machine's time; tests bring another one."""

    def now(self) -> float:
        """Return seconds since an arbitrary, fixed moment."""
        return time.monotonic()

    def wall(self) -> datetime:
        """Return the time of day in UTC."""
        return datetime.now(UTC)

    async def pause(self, seconds: float) -> None:
        """Return after ``seconds``; other tasks run meanwhile."""
        await asyncio.sleep(seconds)


def timestamp(moment: datetime, timespec: str = "seconds") -> str:
    """Return the moment as Kubernetes writes it, in UTC: whole seconds, or ``microseconds`` for a MicroTime."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=timespec) + "Z"


async def cancel_and_wait(task: asyncio.Task[Any]) -> None:
    """Cancel a task and return when it has ended, also if the caller is cancelled; an error of the task is raised."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.result()


FIRST_BACKOFF_S, LONGEST_BACKOFF_S = 1.0, 30.0
GOOD_RUN_S = 60.0


@dataclass(slots=True)
class Backoff:
    """Doubles from one failure to the next, and forgets after a long good run: a kubelet's (10 s to 300 s), shorter."""

    longest_s: float
    _next_s: float = 0.0

    def after_run(self, ran_s: float) -> float:
        """Return the seconds to wait after a run of ``ran_s``, which is 0 for a failed start: at first none."""
        delay_s = 0.0 if ran_s >= GOOD_RUN_S else self._next_s
        self._next_s = min(delay_s * 2 or FIRST_BACKOFF_S, self.longest_s)
        return delay_s
