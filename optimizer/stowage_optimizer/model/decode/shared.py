"""Decoding what nodes, classes and budgets share: amounts, requirements, selectors."""

from collections.abc import Iterable

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.node import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources
from stowage_optimizer.model.selectors import LabelSelector, NodeSelectorTerm, Operator, Requirement, parse_integer

_NAMES = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)


def decode_resources(where: str, message: pb.Resources, issues: Issues) -> Resources:
    """Return the amounts of ``message``; negative ones are issues."""
    amounts = (message.cpu_milli, message.memory_bytes, message.ephemeral_storage_bytes, message.pods)
    # Nearly all are sound: where they stand is spelled out for the others only.
    if min(amounts) < 0:
        for name, amount in zip(_NAMES, amounts, strict=True):
            _check(f"{where}.{name}", amount, issues)
    extended = dict(message.extended) if len(message.extended) else {}
    for name, amount in extended.items():
        issues.require(f"{where}.extended", name)
        _check(f"{where}.extended[{name}]", amount, issues)
        if name in _NAMES:
            issues.add(f"{where}.extended[{name}]", "has a field of its own")
    return Resources(*amounts, extended)


def within_range(message: pb.Resources) -> Resources:
    """Return the amounts of ``message``, nothing where they are negative."""
    return Resources(
        max(0, message.cpu_milli),
        max(0, message.memory_bytes),
        max(0, message.ephemeral_storage_bytes),
        max(0, message.pods),
        {name: max(0, amount) for name, amount in message.extended.items() if name and name not in _NAMES},
    )


def _check(where: str, amount: int, issues: Issues) -> None:
    if amount < 0:
        issues.add(where, f"is negative ({amount})")


NODE_NAME_FIELD = "metadata.name"
"""The one node field that Kubernetes lets affinity select by."""

_SET = (Operator.IN, Operator.NOT_IN)
_NUMERIC = (Operator.GT, Operator.LT)


def decode_term(where: str, message: pb.NodeSelectorTerm, issues: Issues) -> NodeSelectorTerm:
    """Return one alternative of a node affinity."""
    fields = _requirements(f"{where}.match_fields", message.match_fields, issues)
    for index, field in enumerate(fields):
        if field.key != NODE_NAME_FIELD or field.operator not in _SET:
            issues.add(f"{where}.match_fields[{index}]", f"only {NODE_NAME_FIELD} with In or NotIn can be matched")
    return NodeSelectorTerm(_requirements(f"{where}.match_expressions", message.match_expressions, issues), fields)


def decode_terms(where: str, messages: Iterable[pb.NodeSelectorTerm], issues: Issues) -> tuple[NodeSelectorTerm, ...]:
    """Return the alternatives of a node affinity."""
    return tuple(decode_term(f"{where}[{index}]", message, issues) for index, message in enumerate(messages))


def decode_label_selector(where: str, message: pb.LabelSelector, issues: Issues) -> LabelSelector:
    """Return a selector over pod labels."""
    expressions = _requirements(f"{where}.match_expressions", message.match_expressions, issues)
    for index, expression in enumerate(expressions):
        if expression.operator in _NUMERIC:
            issues.add(f"{where}.match_expressions[{index}].operator", f"{expression.operator} is for nodes only")
    return LabelSelector(dict(message.match_labels), expressions)


def _requirements(where: str, messages: Iterable[pb.Requirement], issues: Issues) -> tuple[Requirement, ...]:
    return tuple(_requirement(f"{where}[{index}]", message, issues) for index, message in enumerate(messages))


def _requirement(where: str, message: pb.Requirement, issues: Issues) -> Requirement:
    issues.require(f"{where}.key", message.key)
    operator = issues.member(f"{where}.operator", message.operator, Operator, Operator.EXISTS)
    values = tuple(message.values)
    if operator in _SET and not values:
        issues.add(f"{where}.values", f"is empty, but {operator} needs values")
    if operator in _NUMERIC and not (len(values) == 1 and parse_integer(values[0]) is not None):
        issues.add(f"{where}.values", f"{operator} needs exactly one integer")
    return Requirement(message.key, operator, values)
