"""The checker gives pods the very devices that Kubernetes' own allocator gave them."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify import verify_plan
from stowage_optimizer.verify.device_room import DeviceRoom, Devices, Unfit, first_fit

RECORDINGS = Path(__file__).parents[1] / "recordings" / "devices"
"""Written by Go, from `structured.NewAllocator`; the README there tells how."""

NAMES = sorted(one.name for one in RECORDINGS.glob("*.json"))


@cache
def _recorded(name: str) -> tuple[pb.Snapshot, list[Mapping[str, Any]]]:
    recorded = json.loads((RECORDINGS / name).read_text("utf-8"))
    return ParseDict(recorded["snapshot"], pb.Snapshot()), recorded["arrivals"]


@pytest.mark.parametrize("name", NAMES)
def test_the_checker_chooses_the_devices_that_the_allocator_chose(name: str) -> None:
    """By one other choice a right plan would be refused, or a wrong one pass."""
    snapshot, arrivals = _recorded(name)
    devices = Devices(snapshot)
    class_of = {pod.uid: pod.class_id for pod in snapshot.pods}
    rooms = {node: DeviceRoom(layout) for node, layout in devices.layout_of.items()}
    for node, holdings in devices.holdings.items():
        for device, _, amounts in holdings:
            rooms[node].hold(device, amounts)

    chosen = []
    for one in arrivals:
        requests = devices.requests_of[class_of[one["pod"]]]
        taken = first_fit(rooms[one["node"]], requests) if one["node"] in rooms else Unfit.NONE_LEFT
        chosen.append([] if isinstance(taken, Unfit) else [device for device, _ in taken])

    assert chosen == [one["devices"] for one in arrivals]


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_of_what_the_allocator_did_breaks_no_rule_of_devices(name: str) -> None:
    """The turns of a plan are what the allocator goes by, and pods that found no devices are in no plan."""
    snapshot, arrivals = _recorded(name)
    home = {pod.uid: pod.node for pod in snapshot.pods}
    plan = pb.Plan(snapshot_id=snapshot.id)
    for turn, one in enumerate(arrivals, 1):
        if one["devices"]:
            assert not home[one["pod"]]
            plan.placements.add(pod_uid=one["pod"], node=one["node"], turn=turn, devices=one["devices"])

    broken = [one for one in verify_plan(snapshot, plan, pb.POLICY_PAPER) if one.rule == "devices"]

    assert broken == []


def test_there_are_recordings() -> None:
    """Without any the tests above would be silent."""
    assert len(NAMES) >= 20
