"""An optimiser that lies: a proxy between the scheduler and the honest one.

``hostile_optimizer.py --control FILE serve --socket=...`` takes the place of the honest one's command.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import grpc

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.base.child import end_child

HUGE_BYTES = 64 * 1024 * 1024
"""Four times what the scheduler takes in one message."""
DRIP_S = 1.0


@dataclass(slots=True)
class Asked:
    """One request, with what the honest optimiser says to it, as it says it.

    ``wait`` returns when the scheduler has hung up, or after so many seconds, and tells which.
    """

    request: pb.SolveRequest
    updates: Iterator[pb.SolveUpdate]
    wait: Callable[[float | None], bool]

    def answer(self) -> pb.SolveUpdate:
        """Return the last honest update."""
        updates = list(self.updates)
        return updates[-1] if updates else pb.SolveUpdate()


Reply = Callable[[Asked], Iterator[bytes]]
Lie = Callable[[pb.SolveUpdate, pb.Snapshot], None]


def silence(asked: Asked) -> Iterator[bytes]:
    """Say nothing until the scheduler hangs up."""
    asked.wait(None)
    yield from ()


def drip(asked: Asked) -> Iterator[bytes]:
    """Say a little, once a second, and never come to an end."""
    while not asked.wait(DRIP_S):
        yield pb.SolveUpdate(message="soon").SerializeToString()


def bad_bytes(_asked: Asked) -> Iterator[bytes]:
    """Say what is no message."""
    yield b"\xff" * 64


def huge(_asked: Asked) -> Iterator[bytes]:
    """Say more than fits."""
    yield pb.SolveUpdate(message="x" * HUGE_BYTES, last=True).SerializeToString()


def no_end(asked: Asked) -> Iterator[bytes]:
    """Hang up before the last update."""
    for update in asked.updates:
        if not update.last:
            yield update.SerializeToString()


def _each(part: str, field: str, value: str) -> Lie:
    """Return the lie that says the same of every placement, or of every move."""

    def lie(update: pb.SolveUpdate, _: pb.Snapshot) -> None:
        for step in getattr(update.plan, part):
            setattr(step, field, value)

    return lie


def _twice(update: pb.SolveUpdate, _: pb.Snapshot) -> None:
    update.plan.placements.extend(list(update.plan.placements))
    update.plan.moves.extend(list(update.plan.moves))


def _over_capacity(update: pb.SolveUpdate, snapshot: pb.Snapshot) -> None:
    _each("placements", "node", snapshot.nodes[0].name)(update, snapshot)
    del update.plan.moves[:]


def _victim(*, movable: bool) -> Lie:
    """Return the lie that one pod more is to go."""

    def lie(update: pb.SolveUpdate, snapshot: pb.Snapshot) -> None:
        of_kind = (x for x in snapshot.pods if x.node and x.movable == movable)
        for pod in islice(of_kind, 1):
            update.plan.evictions.add(pod_uid=pod.uid, node=pod.node)

    return lie


def _other_snapshot(update: pb.SolveUpdate, _: pb.Snapshot) -> None:
    update.plan.snapshot_id = "another"


def _wrong_source(update: pb.SolveUpdate, _: pb.Snapshot) -> None:
    for move in update.plan.moves:
        move.from_node = move.to_node


LIES: dict[str, Lie] = {
    "unknown-pod": _each("placements", "pod_uid", "nobody"),
    "unknown-node": _each("placements", "node", "nowhere"),
    "twice": _twice,
    "over-capacity": _over_capacity,
    "protected-victim": _victim(movable=False),
    "needless-victim": _victim(movable=True),
    "other-snapshot": _other_snapshot,
    "wrong-source": _wrong_source,
}
"""Plans that are false, as changes to an honest one."""

RAW: dict[str, Reply] = {"silence": silence, "drip": drip, "bad-bytes": bad_bytes, "huge": huge, "no-end": no_end}
"""Answers that are not even plans."""

OLD_PLAN = "old-plan"
HONEST = "honest"
WAYS = (*LIES, *RAW, OLD_PLAN)


def reply(way: str, asked: Asked, past: list[bytes]) -> Iterator[bytes]:
    """Yield the updates of one answer, serialised, by one of the `WAYS` or honestly.

    The first plan that was ever asked for is kept in ``past``, to be sent again later.
    """
    if way in RAW:
        yield from RAW[way](asked)
        return
    last = asked.answer()
    if last.HasField("plan") and last.plan.placements and not past:
        past.append(last.SerializeToString())
    if way == OLD_PLAN and past:
        yield past[0]
        return
    if way in LIES:
        LIES[way](last, asked.request.snapshot)
    yield last.SerializeToString()


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

    Which ``way`` of lying is asked at every solve.
    """

    def __init__(self, honest: grpc.Channel, way: Callable[[], str]) -> None:
        self._honest = honest
        self._way = way
        self._past: list[bytes] = []

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
        stream: Any = self._honest.unary_stream(SOLVE, response_deserializer=pb.SolveUpdate.FromString)
        asked = Asked(pb.SolveRequest.FromString(request), stream(request), wait=gone.wait)
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


SERVICE = Path(sys.executable).with_name("stowage-optimizer")
END_TIMEOUT_S = 5.0


def main() -> None:
    """Serve until SIGTERM; any other command than `serve` is the honest one's."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--control", type=Path, required=True)
    parser.add_argument("command")
    parser.add_argument("--socket", type=Path)
    asked, rest = parser.parse_known_args()
    if asked.command != "serve":
        of = [f"--socket={asked.socket}"] if asked.socket else []
        os.execv(SERVICE, [str(SERVICE), asked.command, *of, *rest])  # noqa: S606
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with tempfile.TemporaryDirectory(prefix="lie-") as folder:
        honest = Path(folder) / "honest.sock"
        service = subprocess.Popen([SERVICE, "serve", f"--socket={honest}", *rest])
        # The channel connects when the service listens; until then calls wait.
        with grpc.insecure_channel(f"unix:{honest}") as channel:
            grpc.channel_ready_future(channel).result()
            server = serve(asked.socket, channel, lambda: way_in(asked.control))
            stop.wait()
            server.stop(STOP_S).wait()
        end_child(service, END_TIMEOUT_S)


if __name__ == "__main__":
    main()
