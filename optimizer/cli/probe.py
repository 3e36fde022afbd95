"""`probe`: exit 0 if the service on the socket is ready; for exec probes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="stowage-optimizer probe",
        description="Exit 0 if the service on the socket is ready, else 1.",
    )
    parser.add_argument("--socket", type=Path, required=True)
    parser.add_argument("--timeout-s", type=float, default=2.0)
    given = parser.parse_args(arguments)
    state = probe(given.socket, given.timeout_s)
    print(state, file=sys.stdout if state == "SERVING" else sys.stderr)
    return 0 if state == "SERVING" else 1


def probe(socket: Path, timeout_s: float) -> str:
    """Return the state of the service, or why it cannot be told."""
    with grpc.insecure_channel(f"unix:{socket}") as channel:
        try:
            answer = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(), timeout=timeout_s
            )
        except grpc.RpcError as error:
            return f"{socket}: {error.code().name}: {error.details()}"
    return str(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))
