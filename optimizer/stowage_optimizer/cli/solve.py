"""`solve`: a snapshot file in, a plan out, through the same path as the service."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from google.protobuf.json_format import MessageToJson

from stowage_optimizer.cli.files import faulty, read_snapshot, write_answer
from stowage_optimizer.cli.report import report
from stowage_optimizer.cli.solve_options import POLICIES, add_solve_options, read_solve_options
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.errors import OptimizerError
from stowage_optimizer.model.decode import decode_snapshot
from stowage_optimizer.model.issues import InvalidInputError, Issues
from stowage_optimizer.model.options import DEFAULT_STRATEGY
from stowage_optimizer.service.call_handler import CallHandler, Listen
from stowage_optimizer.service.settings import WorkerSettings
from stowage_optimizer.service.updates import progress_line
from stowage_optimizer.service.workers import Workers

_UNLIMITED_BYTES = 2**31 - 1


def run(arguments: Sequence[str], prog: str = "stowage-optimizer solve") -> int:
    """Run the command, known as ``prog``, and return its exit code."""
    parser = argparse.ArgumentParser(prog=prog, description="Solve a snapshot file.")
    parser.add_argument("snapshot", type=Path, help="protobuf JSON of a Snapshot")
    parser.add_argument("--strategy", default="", help=f"default: {DEFAULT_STRATEGY}")
    parser.add_argument("--time-limit-s", type=float, default=10.0, help="wall clock; default: 10")
    parser.add_argument("--seed", type=int, default=0, help="of every random choice")
    parser.add_argument("--workers", type=int, default=0, help="0: all cores")
    parser.add_argument("--deterministic", action="store_true", help="count steps, not seconds")
    add_solve_options(parser)
    parser.add_argument("--json", action="store_true", help="print JSON, no tables")
    parser.add_argument("--progress", action="store_true", help="show on standard error how far it is")
    parser.add_argument(
        "--certificate",
        type=Path,
        metavar="FILE",
        help="write the answer with all its proofs, for verify --certificate",
    )
    given = parser.parse_args(arguments)
    options = pb.SolveOptions(
        strategy=given.strategy,
        policy=POLICIES[given.policy],
        time_limit_s=given.time_limit_s,
        seed=given.seed,
        workers=given.workers,
        deterministic=given.deterministic,
    )
    read_solve_options(given, options)
    answer = solve_file(
        given.snapshot, options, as_json=given.json, progress=given.progress, certificate=given.certificate
    )
    print(answer)  # noqa: T201
    return 0


def solve_file(
    path: Path, options: pb.SolveOptions, *, as_json: bool, progress: bool = False, certificate: Path | None = None
) -> str:
    """Return the answer to the snapshot in ``path``, as tables or as JSON.

    With ``progress`` each step forward is a line on standard error. The file
    ``certificate`` gets the answer with its proofs, as `verify_certificate_file`
    reads it.

    Raises
    ------
    OptimizerError
        A file is faulty, or the solve failed.
    """
    snapshot = read_snapshot(path)
    issues = Issues()
    decode_snapshot(snapshot, issues)
    if issues.isolated:
        # Whoever writes a file wants to know; a cluster's invalid objects are left out.
        raise faulty(path, str(InvalidInputError(issues.isolated)))
    last = solve_snapshot(snapshot, options, ProgressLines().show if progress else _ignore)
    if last.end_reason == pb.END_REASON_INFEASIBLE_INPUT:
        raise faulty(path, last.message)
    if last.end_reason == pb.END_REASON_ERROR:
        raise OptimizerError(f"{path}: the solve failed: {last.message}")
    if certificate is not None:
        write_answer(certificate, last)
    if as_json:
        return MessageToJson(last, preserving_proto_field_name=True)
    return report(snapshot, last)


def _ignore(_progress: pb.Progress) -> None:
    """Take no notice of progress."""


class ProgressLines:
    """Progress as lines on standard error, each new one once.

    Seconds are counted from the first, which a solve begins with.
    """

    def __init__(self) -> None:
        self._started: float | None = None
        self._shown = pb.Progress()

    def show(self, progress: pb.Progress) -> None:
        """Print ``progress`` unless it was printed last."""
        now = time.monotonic()
        if self._started is None:
            self._started = now
        elif progress == self._shown:
            return
        self._shown.CopyFrom(progress)
        line = progress_line(progress, now - self._started)
        print(line, file=sys.stderr)  # noqa: T201


def solve_snapshot(snapshot: pb.Snapshot, options: pb.SolveOptions, on_progress: Listen = _ignore) -> pb.SolveUpdate:
    """Return the last update of a solve in a child process of its own."""
    settings = WorkerSettings()
    workers = Workers(settings)
    try:
        # The time limit is for solving, not for starting the solver.
        workers.warm()
        handler = CallHandler(workers, settings, max_request_bytes=_UNLIMITED_BYTES)
        body = pb.SolveRequest(snapshot=snapshot, options=options).SerializeToString()
        *_, last = handler.solve(body, on_call=lambda _leave: None, on_progress=on_progress)
        return last
    finally:
        workers.close()
