"""The gRPC server: contract and health on one Unix socket.

The socket's path is short enough, free, and readable by its owner only.
"""

import os
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.errors import OptimizerError
from stowage_optimizer.service.call_handler import CallHandler
from stowage_optimizer.service.errors import CallRefusedError
from stowage_optimizer.service.logs import logger_of
from stowage_optimizer.service.metrics import Metrics, metrics_served
from stowage_optimizer.service.settings import ServiceSettings
from stowage_optimizer.service.workers import Workers

LONGEST_PATH_BYTES = 107
"""``sun_path`` has 108 bytes, one of them for the closing zero."""


def claim(path: Path) -> None:
    """Make sure that ``path`` can be bound; a socket that no process serves is removed.

    Raises
    ------
    OptimizerError
        It cannot.
    """
    length = len(os.fsencode(path))
    if length > LONGEST_PATH_BYTES:
        raise OptimizerError(
            f"the socket path {path} has {length} bytes, the kernel takes "
            f"{LONGEST_PATH_BYTES}; choose a shorter folder for --socket"
        )
    if not path.parent.is_dir():
        raise OptimizerError(
            f"the folder {path.parent} of the socket does not exist; create it or choose another --socket"
        )
    if not path.exists() and not path.is_symlink():
        return
    if not path.is_socket():
        raise OptimizerError(f"{path} exists and is not a socket; remove it or choose another --socket")
    if _answers(path):
        raise OptimizerError(f"another process serves on {path}; stop it or choose another --socket")
    path.unlink()


def release(path: Path) -> None:
    """Remove the socket, if it is still there."""
    with suppress(FileNotFoundError):
        path.unlink()


@contextmanager
def private_umask() -> Iterator[None]:
    """Create files that only their owner may read and write."""
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True


SERVICE = "stowage.optimizer.v1.Optimizer"
"""Full name of the service in the contract, also for health checks."""

HEALTH_THREADS = 4
"""Threads besides those of the calls, so that health is answered while calls wait."""


class Service:
    """The optimiser behind its socket."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self.metrics = Metrics()
        self._workers = Workers(settings.worker)
        self._handler = CallHandler(
            self._workers,
            settings.worker,
            max_request_bytes=settings.max_request_bytes,
            queue_length=settings.queue_length,
            metrics=self.metrics,
        )
        self._health = health.HealthServicer()
        self._server = self._build_server()
        self._metrics_served = ExitStack()

    def start(self) -> None:
        """Bind the socket, warm up, and only then be healthy.

        Raises
        ------
        OptimizerError
            One of this room's errors: the socket, the port or the solver.
        """
        path = self._settings.socket
        claim(path)
        if self._settings.metrics_port:
            self._metrics_served.enter_context(metrics_served(self.metrics, self._settings.metrics_port))
        try:
            with private_umask():
                self._server.add_insecure_port(f"unix:{path}")
        except RuntimeError as error:
            self.stop()
            raise OptimizerError(f"cannot serve on {path}: {error}; check the folder's permissions") from None
        self._set_health(health_pb2.HealthCheckResponse.NOT_SERVING)
        self._server.start()
        self._workers.warm()
        self._set_health(health_pb2.HealthCheckResponse.SERVING)
        logger_of("").info("serving", extra={"socket": str(path)})

    def stop(self, grace_s: float = 1.0) -> None:
        """End every call, every child and the socket."""
        self._health.enter_graceful_shutdown()
        self._handler.stop()
        self._server.stop(grace_s).wait()
        self._workers.close()
        self._metrics_served.close()
        release(self._settings.socket)
        logger_of("").info("stopped")

    def _build_server(self) -> grpc.Server:
        settings = self._settings
        server = grpc.server(
            ThreadPoolExecutor(1 + settings.queue_length + HEALTH_THREADS),
            options=[
                # Up to twice the limit is read, so that the refusal can name it.
                ("grpc.max_receive_message_length", 2 * settings.max_request_bytes),
                ("grpc.max_send_message_length", -1),
            ],
        )
        handler: grpc.RpcMethodHandler[bytes, pb.SolveUpdate] = grpc.unary_stream_rpc_method_handler(
            self._solve, response_serializer=pb.SolveUpdate.SerializeToString
        )
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {"Solve": handler}),))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        return server

    def _solve(self, body: bytes, context: grpc.ServicerContext) -> Iterator[pb.SolveUpdate]:
        try:
            yield from self._handler.solve(body, context.add_callback)
        except CallRefusedError as error:
            logger_of("").warning("call refused", extra={"reason": str(error)})
            context.abort(grpc.StatusCode[error.status], str(error))

    def _set_health(self, status: health_pb2.HealthCheckResponse.ServingStatus) -> None:
        for name in ("", SERVICE):
            self._health.set(name, status)
