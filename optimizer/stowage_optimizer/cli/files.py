"""Snapshots and plans as files: protobuf's JSON mapping."""

import json
from pathlib import Path
from typing import TypeVar

from google.protobuf.json_format import MessageToJson, ParseDict, ParseError
from google.protobuf.message import Message

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.errors import INVALID_INPUT, OptimizerError

M = TypeVar("M", bound=Message)

BUDGET = "disruption-budget"
"""Reason of the refusals that name pods which a budget keeps."""


def read_snapshot(path: Path) -> pb.Snapshot:
    """Return the snapshot in the file ``path``.

    Raises
    ------
    OptimizerError
        The file is not there, not JSON, or no snapshot.
    """
    return _message(path, _json(path), pb.Snapshot())


def read_answer(path: Path) -> pb.SolveUpdate:
    """Return the update in the file ``path``, which may have nothing but its plan.

    Raises
    ------
    OptimizerError
        The file is not there, not JSON, or neither an update nor a plan.
    """
    read = _json(path)
    if isinstance(read, dict) and "plan" in read:
        return _message(path, read, pb.SolveUpdate())
    return pb.SolveUpdate(plan=_message(path, read, pb.Plan()))


def left_alone(answer: pb.SolveUpdate) -> set[str]:
    """Return what ``answer`` left out, by its refusals.

    Classes by their id, everything else as in ``budget namespace/name``. Not what
    budgets keep: these are in the snapshot.
    """
    return {one.subject.removeprefix("class ") for one in answer.refusals if one.reason != BUDGET}


def write_answer(path: Path, update: pb.SolveUpdate) -> None:
    """Write ``update`` to the file ``path``, as `read_answer` reads it.

    Raises
    ------
    OptimizerError
        The file cannot be written.
    """
    text = MessageToJson(update, preserving_proto_field_name=True)
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        why = error.strerror or str(error)
        raise faulty(path, f"cannot be written: {why}; check the folder and its permissions") from None


def faulty(path: Path, what: str) -> OptimizerError:
    """Return the error that the file ``path`` is at fault."""
    return OptimizerError(f"{path}: {what}", exit_code=INVALID_INPUT)


def _json(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        why = error.strerror or str(error)
    except UnicodeDecodeError as error:
        why = f"not UTF-8 at byte {error.start}"
    except json.JSONDecodeError as error:
        where = f"{path}:{error.lineno}:{error.colno}"
        raise OptimizerError(f"{where}: not JSON: {error.msg}; correct it there", exit_code=INVALID_INPUT) from None
    raise faulty(path, f"cannot be read: {why}; check the path")


def _message(path: Path, read: object, message: M) -> M:
    try:
        if not isinstance(read, dict):
            raise ParseError(f"an object is needed, not {read!r:.40}")
        return ParseDict(read, message)
    except ParseError as error:
        name = type(message).DESCRIPTOR.name
        raise faulty(
            path,
            f"no {name} of the contract: {error}; see "
            "optimizer/stowage_optimizer/contract/optimizer.proto for the fields",
        ) from None
