"""One service for the whole folder: its start is what takes the time."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
import strategies_under_test

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.contract import optimizer_pb2_grpc as pb_grpc
from stowage_optimizer.service.server import Service
from stowage_optimizer.service.settings import GIB, MIB, ServiceSettings, WorkerSettings
from stowage_testbed.simulate.process import Simulator, find_profile

Solve = Callable[[pb.SolveRequest], list[pb.SolveUpdate]]


@pytest.fixture(scope="session")
def socket_folder() -> Iterator[Path]:
    """Return a folder whose name is short enough for any socket."""
    with tempfile.TemporaryDirectory(prefix="sto-") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def service_settings(socket_folder: Path) -> ServiceSettings:
    """Return a service with misbehaving strategies and no queue."""
    worker = WorkerSettings(workers=1, memory_limit_bytes=GIB, strategies=strategies_under_test.PATH)
    socket = socket_folder / "o.sock"
    return ServiceSettings(socket=socket, max_request_bytes=MIB, queue_length=0, worker=worker)


@pytest.fixture(scope="session")
def service(service_settings: ServiceSettings) -> Iterator[Service]:
    service = Service(service_settings)
    service.start()
    yield service
    service.stop()


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with Simulator(find_profile("deterministic")) as running:
        yield running


@pytest.fixture
def channel(service: Service, service_settings: ServiceSettings) -> Iterator[grpc.Channel]:
    del service
    with grpc.insecure_channel(f"unix:{service_settings.socket}") as channel:
        yield channel


@pytest.fixture
def solve(channel: grpc.Channel) -> Solve:
    stub = pb_grpc.OptimizerStub(channel)
    return lambda request: list(stub.Solve(request))
