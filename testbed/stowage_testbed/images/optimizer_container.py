"""The optimiser alone in a container, for tests of projects that only want plans.

Needs the extra ``stowage[containers]``. The container has what the chart gives it: no network, no capability, a root
file system that cannot be written, a limit of memory.

    with OptimizerContainer() as optimizer:
        answer = optimizer.solve(request)
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import grpc
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import WaitStrategy, WaitStrategyTarget

from stowage_optimizer.cli.probe import probe
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.contract import optimizer_pb2_grpc as pb_grpc
from stowage_testbed.base.errors import StowageError
from stowage_testbed.images.docker_engine import image_id
from stowage_testbed.images.recipe import recipe_of
from stowage_testbed.optimizer_service.service import last_answer

MEMORY_BYTES = 2 << 30
READY_S = 60.0

_INSIDE = "/run/stowage"
_SOCKET = "optimizer.sock"
_USER = 65532
_PROCESSES = 256
_ROOT = 0


class ServingWaitStrategy(WaitStrategy):
    """Waits until the service behind a container's socket says that it serves."""

    def __init__(self, socket: Path, timeout_s: float = READY_S) -> None:
        super().__init__()
        self.socket = socket
        self.with_startup_timeout(timedelta(seconds=timeout_s))

    def wait_until_ready(self, container: WaitStrategyTarget) -> None:
        """Wait, but no longer than the container lives; raises `TimeoutError` with the last state seen."""
        state = "never asked"

        def serves() -> bool:
            nonlocal state
            container.reload()
            if container.status not in ("created", "running"):
                state = f"the container is {container.status}"
                raise StopIteration(state)
            state = probe(self.socket, 1.0) if self.socket.exists() else "no socket"
            return state == "SERVING"

        if not self._poll(serves):
            raise TimeoutError(f"the optimiser does not serve: {state}")


class OptimizerContainer(DockerContainer):
    """The optimiser's image, by default that of this version, with its socket in a folder of this machine.

    More than ``memory_bytes`` kills it; the strategies take less than 1 GiB for 10,000 pods. ``arguments`` are further
    options of ``stowage-optimizer serve``. It listens on ``socket``, as this machine sees it; nobody else reaches it.
    """

    def __init__(
        self, image: str | None = None, *, memory_bytes: int = MEMORY_BYTES, arguments: tuple[str, ...] = ()
    ) -> None:
        super().__init__(
            image or recipe_of("optimizer").reference,
            read_only=True,
            network_mode="none",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges:true"],
            mem_limit=memory_bytes,
            memswap_limit=memory_bytes,
            pids_limit=_PROCESSES,
            user=str(_USER if os.geteuid() == _ROOT else os.geteuid()),
        )
        # Short: a socket's whole path has room for 107 bytes.
        self._folder = Path(tempfile.mkdtemp(prefix="sto-"))
        self.socket = self._folder / _SOCKET
        self.with_volume_mapping(str(self._folder), _INSIDE, "rw")
        self.with_tmpfs_mount("/tmp")  # noqa: S108 - inside the container
        self.with_command(["serve", "--socket", f"{_INSIDE}/{_SOCKET}", *arguments])
        self.waiting_for(ServingWaitStrategy(self.socket))

    def start(self) -> OptimizerContainer:
        """Start it, and return when it serves; raises `TimeoutError` with its log if it does not."""
        if os.geteuid() == _ROOT:
            os.chown(self._folder, _USER, _USER)
        # The container that removes others is used if it is there, and never pulled.
        if not image_id(testcontainers_config.ryuk_image):
            testcontainers_config.ryuk_disabled = True
        try:
            super().start()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self, force: bool = True, delete_volume: bool = True) -> None:
        """End it and remove all that is left of it."""
        with suppress(AttributeError):  # it never began
            super().stop(force, delete_volume)
        shutil.rmtree(self._folder, ignore_errors=True)

    @contextmanager
    def channel(self) -> Iterator[grpc.Channel]:
        """Yield a channel to the service, for the contract's own stub."""
        options = [("grpc.max_receive_message_length", -1)]
        with grpc.insecure_channel(f"unix:{self.socket}", options) as channel:
            yield channel

    def solve(self, request: pb.SolveRequest) -> pb.SolveUpdate:
        """Return the last answer to a request; raises `StowageError` with the container's last lines without one."""
        with self.channel() as channel:
            try:
                return last_answer(pb_grpc.OptimizerStub(channel), request)
            except StowageError as error:
                said = b"".join(self.get_logs()).decode(errors="replace")[-2000:]
                raise StowageError(f"{error}; its container said:\n{said}") from None

    def __enter__(self) -> OptimizerContainer:
        """Start it; one that does not start is stopped once, and not twice."""
        return self.start()
