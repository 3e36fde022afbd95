"""Decoding what ties a pod to other pods: affinity, spread, host ports."""

from __future__ import annotations

from collections.abc import Iterable

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.decode.selectors import decode_label_selector
from stowage_optimizer.model.pod_class import HostPort, PodAffinityTerm, TopologySpread
from stowage_optimizer.model.selectors import LabelSelector

LARGEST_PORT = 65535


def decode_affinity_terms(
    where: str, messages: Iterable[pb.PodAffinityTerm], issues: Issues
) -> tuple[PodAffinityTerm, ...]:
    """Return the terms of a required affinity or anti-affinity."""
    return tuple(
        PodAffinityTerm(
            topology_key=issues.require(
                f"{where}[{index}].topology_key", message.topology_key
            ),
            label_selector=_selector(f"{where}[{index}]", message, issues),
            namespaces=tuple(message.namespaces),
            namespace_selector=decode_label_selector(
                f"{where}[{index}].namespace_selector",
                message.namespace_selector,
                issues,
            )
            if message.HasField("namespace_selector")
            else None,
            match_label_keys=tuple(message.match_label_keys),
            mismatch_label_keys=tuple(message.mismatch_label_keys),
        )
        for index, message in enumerate(messages)
    )


def decode_spread(
    where: str, messages: Iterable[pb.TopologySpreadConstraint], issues: Issues
) -> tuple[TopologySpread, ...]:
    """Return the topology spread constraints."""
    return tuple(
        _spread(f"{where}[{index}]", message, issues)
        for index, message in enumerate(messages)
    )


def decode_host_ports(
    where: str, messages: Iterable[pb.HostPort], issues: Issues
) -> tuple[HostPort, ...]:
    """Return the host ports."""
    ports = []
    for index, message in enumerate(messages):
        if not 0 < message.port <= LARGEST_PORT:
            issues.add(f"{where}[{index}].port", f"is {message.port}, not in 1..65535")
        ports.append(HostPort(message.protocol, message.host_ip, message.port))
    return tuple(ports)


def _spread(
    where: str, message: pb.TopologySpreadConstraint, issues: Issues
) -> TopologySpread:
    if message.max_skew < 1:
        issues.add(f"{where}.max_skew", f"is {message.max_skew}, must be at least 1")
    _one_of(
        f"{where}.when_unsatisfiable",
        message.when_unsatisfiable,
        ("DoNotSchedule", "ScheduleAnyway"),
        issues,
    )
    for name in ("node_affinity_policy", "node_taints_policy"):
        policy = getattr(message, name)
        _one_of(f"{where}.{name}", policy, ("", "Honor", "Ignore"), issues)
    return TopologySpread(
        max_skew=message.max_skew,
        topology_key=issues.require(f"{where}.topology_key", message.topology_key),
        hard=message.when_unsatisfiable == "DoNotSchedule",
        label_selector=_selector(where, message, issues),
        min_domains=message.min_domains,
        honor_node_affinity=message.node_affinity_policy != "Ignore",
        honor_node_taints=message.node_taints_policy == "Honor",
        match_label_keys=tuple(message.match_label_keys),
    )


def _selector(
    where: str,
    message: pb.PodAffinityTerm | pb.TopologySpreadConstraint,
    issues: Issues,
) -> LabelSelector | None:
    if not message.HasField("label_selector"):
        return None
    return decode_label_selector(
        f"{where}.label_selector", message.label_selector, issues
    )


def _one_of(where: str, value: str, allowed: tuple[str, ...], issues: Issues) -> None:
    if value not in allowed:
        names = ", ".join(repr(name) for name in allowed)
        issues.add(where, f"is {value!r}, not one of {names}")
