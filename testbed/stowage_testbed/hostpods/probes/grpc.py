"""Asking the gRPC health service."""

from __future__ import annotations

import asyncio

from stowage_testbed.hostpods.probes.outcome import Outcome


async def probe_grpc(host: str, port: int, service: str, timeout_s: float) -> Outcome:
    """Succeed if the service says SERVING in time."""
    return await asyncio.to_thread(_ask, f"{host}:{port}", service, timeout_s)


def _ask(address: str, service: str, timeout_s: float) -> Outcome:
    # Imported late: most pods have no such probe, and gRPC takes 0.2 s to load.
    import grpc  # noqa: PLC0415 - see above
    from grpc_health.v1 import health_pb2, health_pb2_grpc  # noqa: PLC0415 - see above

    with grpc.insecure_channel(address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        try:
            answer = stub.Check(
                health_pb2.HealthCheckRequest(service=service), timeout=timeout_s
            )
        except grpc.RpcError as error:
            return Outcome(ok=False, message=f"{address}: {error}")
    serving = health_pb2.HealthCheckResponse.SERVING
    name = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    return Outcome(answer.status == serving, f"{address} is {name}")
