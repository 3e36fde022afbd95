"""The optimiser's service as a process of its own, as it runs beside the scheduler."""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc

from stowage_optimizer.cli.probe import probe
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.contract import optimizer_pb2_grpc as pb_grpc
from stowage_testbed.base.child import Child, log_end
from stowage_testbed.base.errors import StowageError

COMMAND = (sys.executable, "-c", "from stowage_optimizer.cli import main; main()", "serve")
READY_LIMIT_S = 120.0
STOP_LIMIT_S = 20.0
LOG_LINES = 20

GRACE_S = 30.0
"""Beyond its time limit a call is given this, and is then an error of the service."""


@dataclass(frozen=True, slots=True)
class RunningService:
    """A service that is ready, ``ready_s`` after its start; the solver's processes are children of its own."""

    pid: int
    stub: pb_grpc.OptimizerStub
    ready_s: float
    socket: Path

    def last_answer(self, request: pb.SolveRequest) -> pb.SolveUpdate:
        """Return the last answer to a request, as `last_answer` does."""
        return last_answer(self.stub, request)


def last_answer(stub: pb_grpc.OptimizerStub, request: pb.SolveRequest) -> pb.SolveUpdate:
    """Return the last answer to a request; a `StowageError` if the call failed, or ended without one."""
    # A solve that hangs is killed by the service, which says so.
    timeout_s = request.options.time_limit_s + GRACE_S
    last = None
    try:
        for last in stub.Solve(request, timeout=timeout_s):  # noqa: B007
            pass
    except grpc.RpcError as error:
        raise no_answer(str(error.details())) from None
    if last is None or not last.last:
        raise no_answer("the stream ended early")
    return last


def no_answer(why: str) -> StowageError:
    """Return the error that a call had no answer that can be used."""
    return StowageError(f"the optimiser gave no answer: {why}")


def call_failed(case: str, arm: str, why: str) -> StowageError:
    """Return the error that a measured call was refused or left without an answer."""
    way_out = "what was measured until now is kept, and running again goes on from there"
    return StowageError(f"no answer for {case} by {arm}: {why}; {way_out}")


@contextmanager
def running_service(code_cache: Path | None = None) -> Iterator[RunningService]:
    """Start the service, with code of ``code_cache``, and stop it; a `StowageError` if it does not get ready."""
    environment = dict(os.environ)
    if code_cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(code_cache)
    with tempfile.TemporaryDirectory(prefix="sto-") as folder:
        socket = Path(folder) / "o.sock"
        started = time.monotonic()
        command = [*COMMAND, "--socket", str(socket), "--end-with-stdin"]
        child = Child(command, Path(folder) / "log", environment, tied=True)
        try:
            state = probe(socket, READY_LIMIT_S, wait=True)
            ready_s = time.monotonic() - started
            if state != "SERVING":
                why = f"the optimiser's service did not get ready: {state}; its log ends with:"
                way_out = "start `stowage-optimizer serve` by hand to see why"
                raise StowageError(f"{why}\n{log_end(child.log, LOG_LINES)}\n{way_out}")
            options = [("grpc.max_receive_message_length", -1)]
            with grpc.insecure_channel(f"unix:{socket}", options) as channel:
                yield RunningService(child.pid, pb_grpc.OptimizerStub(channel), ready_s, socket)
        finally:
            child.end(STOP_LIMIT_S)
