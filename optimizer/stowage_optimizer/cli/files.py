"""Snapshots and plans as files: protobuf's JSON mapping."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeVar

from google.protobuf.json_format import MessageToJson, ParseDict, ParseError
from google.protobuf.message import Message

from stowage_optimizer.cli.errors import (
    FileUnreadableError,
    FileUnwritableError,
    InvalidFieldError,
    InvalidJsonError,
)
from stowage_optimizer.contract import optimizer_pb2 as pb

M = TypeVar("M", bound=Message)


def read_snapshot(path: Path) -> pb.Snapshot:
    """Return the snapshot in the file ``path``.

    Raises
    ------
    FileUnreadableError, InvalidJsonError, InvalidFieldError
        The file is not there, not JSON, or no snapshot.
    """
    return _message(path, _json(path), pb.Snapshot())


def read_plan(path: Path) -> pb.Plan:
    """Return the plan in the file ``path``, which may be an update with a plan in it.

    Raises
    ------
    FileUnreadableError, InvalidJsonError, InvalidFieldError
        The file is not there, not JSON, or no plan.
    """
    read = _json(path)
    if isinstance(read, dict) and "plan" in read:
        return _message(path, read, pb.SolveUpdate()).plan
    return _message(path, read, pb.Plan())


def read_left_alone(path: Path) -> set[str]:
    """Return what the update in the file ``path`` left out, by its refusals.

    Classes by their id, everything else as in ``budget namespace/name``.

    Raises
    ------
    FileUnreadableError, InvalidJsonError, InvalidFieldError
        The file is not there, not JSON, or neither an update nor a plan.
    """
    read = _json(path)
    if not (isinstance(read, dict) and "plan" in read):
        return set()
    refusals = _message(path, read, pb.SolveUpdate()).refusals
    return {one.subject.removeprefix("class ") for one in refusals}


def write_answer(path: Path, update: pb.SolveUpdate) -> None:
    """Write ``update`` to the file ``path``, as `read_plan` reads it.

    Raises
    ------
    FileUnwritableError
        The file cannot be written.
    """
    text = MessageToJson(update, preserving_proto_field_name=True)
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise FileUnwritableError(path, error.strerror or str(error)) from None


def _json(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileUnreadableError(path, error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        raise FileUnreadableError(path, f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise InvalidJsonError(path, error.lineno, error.colno, error.msg) from None


def _message(path: Path, read: object, message: M) -> M:
    name = type(message).DESCRIPTOR.name
    if not isinstance(read, dict):
        raise InvalidFieldError(path, name, f"an object is needed, not {read!r:.40}")
    try:
        return ParseDict(read, message)
    except ParseError as error:
        raise InvalidFieldError(path, name, str(error)) from None
