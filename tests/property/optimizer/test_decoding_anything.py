"""Whatever a snapshot says, it is understood or refused with a reason."""

from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode import decode_options, decode_snapshot
from stowage_optimizer.model.issues import InvalidInputError, Issues

SLOW_TO_MAKE = (HealthCheck.too_slow, HealthCheck.data_too_large)
DEEPEST = 5
WORDS = (
    "", "a", "b", "n1", "u1", "zone", "In", "NotIn", "Exists", "Gt", "5", "-5", "x y",
    "DoNotSchedule", "NoSchedule", "Honor", "TCP", "metadata.name", "\u0000",
)  # fmt: skip
NUMBERS = (0, 1, 2, 3, 10, -1, 2**31 - 1, -(2**31), 2**62, -(2**63))
SMALL = tuple(number for number in NUMBERS if -(2**31) <= number < 2**31)
_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT64: NUMBERS,
    FieldDescriptor.CPPTYPE_INT32: SMALL,
    FieldDescriptor.CPPTYPE_ENUM: (0, 1, 2, 99),
}


def any_message(of: type[Message]) -> st.SearchStrategy[Any]:
    """Return a strategy for messages of a type: few words, so that they meet."""
    descriptor: Any = of.DESCRIPTOR
    return _message(descriptor, 0)


@st.composite
def _message(draw: st.DrawFn, of: Descriptor, depth: int) -> Message:
    message = GetMessageClass(of)()
    for field in of.fields:
        if draw(st.booleans()):
            _fill(draw, message, field, depth)
    return message


def _fill(draw: st.DrawFn, message: Message, field: FieldDescriptor, depth: int) -> None:
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        key = draw(st.sampled_from(WORDS))
        getattr(message, field.name)[key] = _scalar(draw, kind.fields_by_name["value"])
    elif kind is not None:
        if depth >= DEEPEST:
            return
        for _ in range(draw(st.integers(1, 2)) if field.is_repeated else 1):
            inner = draw(_message(kind, depth + 1))
            slot = getattr(message, field.name)
            (slot.add() if field.is_repeated else slot).CopyFrom(inner)
    elif field.is_repeated:
        getattr(message, field.name).extend([_scalar(draw, field)])
    else:
        setattr(message, field.name, _scalar(draw, field))


def _scalar(draw: st.DrawFn, field: FieldDescriptor) -> Any:
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return draw(st.sampled_from(WORDS))
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return draw(st.booleans())
    if field.cpp_type == FieldDescriptor.CPPTYPE_DOUBLE:
        return draw(st.floats(width=64))
    return draw(st.sampled_from(_INTEGERS[field.cpp_type]))


def refused(issues: Issues) -> bool:
    """Tell whether there are issues; each of them has its words."""
    try:
        issues.raise_if_any()
    except InvalidInputError as error:
        return all(str(issue) for issue in error.issues)
    return False


@settings(max_examples=150, deadline=None, suppress_health_check=SLOW_TO_MAKE)
@given(any_message(pb.Snapshot))
def test_any_snapshot_is_decoded_or_refused(message: pb.Snapshot) -> None:
    """A crash of the service would keep it from planning for others."""
    issues = Issues()
    snapshot = decode_snapshot(message, issues)

    if not refused(issues):
        assert len(snapshot.pods) == len(message.pods)
        assert len(snapshot.nodes) == len(message.nodes)


@settings(max_examples=100, deadline=None)
@given(any_message(pb.SolveOptions))
def test_any_options_are_decoded_or_refused(message: pb.SolveOptions) -> None:
    """Not a number, a negative limit, an unknown strategy: each is named."""
    issues = Issues()
    options = decode_options(
        message, issues, strategies={"a", "lexicographic"}, default_time_limit_s=1.0, default_workers=1
    )

    if not refused(issues):
        assert options.time_limit_s > 0
        assert options.strategy in {"a", "lexicographic"}
