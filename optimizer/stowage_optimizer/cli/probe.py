"""`probe`: exit 0 if the service on the socket is ready; for exec probes."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

_QUICK_RETRIES = [
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 50),
]
"""A socket on this machine costs nothing to ask again."""


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="stowage-optimizer probe", description="Exit 0 if the service on the socket is ready, else 1."
    )
    parser.add_argument("--socket", type=Path, required=True)
    parser.add_argument("--timeout-s", type=float, default=2.0)
    parser.add_argument(
        "--wait", action="store_true", help="for the service to be ready, as long as the time-out allows"
    )
    given = parser.parse_args(arguments)
    state = probe(given.socket, given.timeout_s, wait=given.wait)
    print(state, file=sys.stdout if state == "SERVING" else sys.stderr)
    return 0 if state == "SERVING" else 1


def probe(socket: Path, timeout_s: float, *, wait: bool = False) -> str:
    """Return the state of the service, or why it is unknown."""
    with grpc.insecure_channel(f"unix:{socket}", _QUICK_RETRIES) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        request = health_pb2.HealthCheckRequest()
        state = "UNKNOWN"
        try:
            if not wait:
                return _name(stub.Check(request, timeout=timeout_s))
            for answer in stub.Watch(request, timeout=timeout_s, wait_for_ready=True):
                state = _name(answer)
                if state == "SERVING":
                    break
        except grpc.RpcError as error:
            return f"{socket}: {error.code().name}: {error.details()}; was {state}"
    return state


def _name(answer: health_pb2.HealthCheckResponse) -> str:
    return str(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))
