"""Stands between the scheduler and the optimiser, and changes what is said."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.faults.hostile.replies import HONEST, Asked, Past, reply

SOLVE = "/stowage.optimizer.v1.Optimizer/Solve"
THREADS = 8
STOP_S = 1.0


def way_in(control: Path) -> str:
    """Return the way that the file asks for; without the file, the truth."""
    try:
        return control.read_text("utf-8").strip() or HONEST
    except FileNotFoundError:
        return HONEST


class Proxy(grpc.GenericRpcHandler):
    """Answers every call: solves by a lie, the rest as the honest service does.

    Parameters
    ----------
    honest
        Channel to the honest service.
    way
        Asked at every solve.
    """

    def __init__(self, honest: grpc.Channel, way: Callable[[], str]) -> None:
        self._honest = honest
        self._way = way
        self._past = Past()

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        """Return the handler of a call, which takes and gives plain bytes."""
        if details.method == SOLVE:
            return grpc.unary_stream_rpc_method_handler(self._solve)
        # One answer is a stream of one, and health is watched as well as asked for.
        call: Any = self._honest.unary_stream(details.method)
        return grpc.unary_stream_rpc_method_handler(lambda request, _: call(request))

    def _solve(self, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        gone = threading.Event()
        context.add_callback(gone.set)
        stream: Any = self._honest.unary_stream(
            SOLVE, response_deserializer=pb.SolveUpdate.FromString
        )
        asked = Asked(
            pb.SolveRequest.FromString(request), stream(request), wait=gone.wait
        )
        yield from reply(self._way(), asked, self._past)


def serve(socket: Path, honest: grpc.Channel, way: Callable[[], str]) -> grpc.Server:
    """Return a server that listens on ``socket``."""
    pool = ThreadPoolExecutor(THREADS, thread_name_prefix="lie")
    unlimited = [("grpc.max_send_message_length", -1)]
    server = grpc.server(pool, options=unlimited)
    server.add_generic_rpc_handlers((Proxy(honest, way),))
    server.add_insecure_port(f"unix:{socket}")
    server.start()
    return server
