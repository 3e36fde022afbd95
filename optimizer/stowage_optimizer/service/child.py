"""The child process: solves one request, streams what it finds, and ends.

It is forked from the fork server, where the solver is imported already, reports that it
is ready, and waits for its one request. Nothing of it is trusted: the parent checks
each plan and kills the child at the limit.
"""

from __future__ import annotations

import gc
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import replace
from multiprocessing.connection import Connection

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode import decode_options, decode_snapshot
from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.encode import encode_plan, encode_refusals
from stowage_optimizer.model.errors import InvalidInputError
from stowage_optimizer.model.options import SolveOptions
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.service.child_warmup import warm_up_child
from stowage_optimizer.service.confinement import confine
from stowage_optimizer.service.outbox import Outbox
from stowage_optimizer.service.packets import READ, READY
from stowage_optimizer.service.settings import WorkerSettings
from stowage_optimizer.service.update_writer import UpdateWriter
from stowage_optimizer.strategies.answering import answering
from stowage_optimizer.strategies.reduced import reduced
from stowage_optimizer.strategies.related import demanded
from stowage_optimizer.strategies.strategy import Answer, Strategy


def solve_one(
    connection: Connection, settings: WorkerSettings, strategies: Mapping[str, Strategy]
) -> None:
    """Get ready, take one request from ``connection``, answer it and return.

    The request comes as two messages: the seconds of the solve, and the contract's
    `SolveRequest`. After reading them it sends `READ`, and the seconds begin. Each
    answer is a `SolveUpdate`.
    """
    confine(settings.memory_limit_bytes)
    warm_up_child()
    connection.send_bytes(READY)
    try:
        time_limit_s = float(connection.recv_bytes().decode())
        body = connection.recv_bytes()
    except EOFError:
        return
    try:
        last = _answer(connection, body, time_limit_s, settings, strategies)
    except InvalidInputError as error:
        last = pb.SolveUpdate(
            end_reason=pb.END_REASON_INFEASIBLE_INPUT, message=str(error)
        )
    except MemoryError:
        last = pb.SolveUpdate(
            end_reason=pb.END_REASON_ERROR,
            message="out of memory: raise --memory-limit-bytes or send fewer pods",
        )
    except Exception as error:  # the edge of the process
        traceback.print_exc(file=sys.stderr)
        last = pb.SolveUpdate(
            end_reason=pb.END_REASON_ERROR, message=f"{type(error).__name__}: {error}"
        )
    last.last = True
    connection.send_bytes(last.SerializeToString())


def _answer(
    connection: Connection,
    body: bytes,
    time_limit_s: float,
    settings: WorkerSettings,
    strategies: Mapping[str, Strategy],
) -> pb.SolveUpdate:
    started = time.monotonic()
    # All of a snapshot stays: looking for garbage in it again and again took as long
    # as decoding it.
    gc.disable()
    request = pb.SolveRequest.FromString(body)
    snapshot, options = _decode(request, settings, strategies)
    gc.freeze()
    gc.enable()
    if not demanded(snapshot):
        # What every strategy begins with; it does not count as solving.
        reduced(snapshot)
    connection.send_bytes(READ)
    decoded = time.monotonic()
    writer = UpdateWriter(connection.send_bytes, options.strategy, started, decoded)
    with Outbox(writer.write, clock=time.monotonic) as outbox:
        answer = answering(strategies[options.strategy], options).solve(
            snapshot,
            _within(options, time_limit_s),
            clock=time.monotonic,
            publish=outbox.publish,
        )
    durations = pb.Durations(
        decode_s=decoded - started, solve_s=time.monotonic() - decoded
    )
    return _last(answer, options, durations)


def _decode(
    request: pb.SolveRequest,
    settings: WorkerSettings,
    strategies: Mapping[str, Strategy],
) -> tuple[Snapshot, SolveOptions]:
    issues = Issues()
    snapshot = decode_snapshot(request.snapshot, issues)
    options = decode_options(
        request.options,
        issues,
        strategies=strategies.keys(),
        default_time_limit_s=settings.time_limit_s,
        default_workers=settings.workers,
    )
    issues.raise_if_any()
    return snapshot, options


def _within(options: SolveOptions, time_limit_s: float) -> SolveOptions:
    # Steps must not depend on how long anything took.
    if options.deterministic:
        return options
    return replace(options, time_limit_s=time_limit_s)


def _last(
    answer: Answer, options: SolveOptions, durations: pb.Durations
) -> pb.SolveUpdate:
    return pb.SolveUpdate(
        plan=encode_plan(answer.plan),
        end_reason=pb.EndReason.Name(answer.end_reason.value),
        refusals=encode_refusals(answer.refusals),
        message=answer.message,
        durations=durations,
        strategy=options.strategy,
    )
