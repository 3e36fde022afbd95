"""From changes, audit entries and the kernel's accounts to a run's record."""

import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
import yaml
from amounts import size, taken
from watched_pods import NAMESPACE, at, life, logged, seen

from stowage_testbed.cluster.devices import Devices, make_classes, make_pool
from stowage_testbed.metrics.footprint import UNKNOWN, FootprintMeter
from stowage_testbed.metrics.record import PodRecord, RunRecord
from stowage_testbed.metrics.state import NodeState
from stowage_testbed.observe.audit import AuditEntry
from stowage_testbed.observe.change import Change, Verb, Window
from stowage_testbed.observe.device_book import DeviceBook
from stowage_testbed.run.window_record import make_node_records, make_record

RECORDED = yaml.safe_load(Path(__file__).with_name("recorded.yaml").read_text("utf-8"))
NODE = NodeState("n1", size(4000, 4 * 10**9))


def record(
    changes: Sequence[Change], audit: Sequence[AuditEntry] = (), *, counts: tuple[int, int] | None = None
) -> RunRecord:
    """Return the record of the window from second 100 to second 110."""
    window = Window(at(100), at(110))
    devices = DeviceBook.of_all(changes)
    return make_record(
        "burst/test", NAMESPACE, window, nodes=[NODE], changes=changes, devices=devices, audit=audit, pod_counts=counts
    )


def test_a_record_says_what_was_run_and_when_from_the_windows_start() -> None:
    """A pod's requests are what the scheduler counts, sidecars included."""
    found = record(life("a", 101, 102.25, 103.5), counts=(1, 1))

    pod = PodRecord(
        uid="uid-a",
        name="a",
        workload="web",
        priority=7,
        requests=taken(150, 10**9),
        node="n1",
        created_s=1.0,
        bound_s=2.25,
        ready_s=3.5,
        watch_t_sched_s=1.25,
    )
    assert (found.pods, found.nodes, found.window_s) == ((pod,), (NODE,), 10.0)
    assert (found.scenario_id, found.arm, found.limits, found.round_number) == ("burst/test", "release", "own", 1)
    assert (found.api_pods, found.error) == (1, "")


def test_a_pod_of_a_record_has_the_devices_that_it_held_or_waits_for() -> None:
    """Its claim is gone at the end; an extended resource is devices where no node lists it."""
    t4 = Devices(model="T4", count=2, memory="16Gi", resource="nvidia.com/gpu")
    made = [("DeviceClass", one) for one in make_classes([t4])] + [
        ("ResourceSlice", one) for one in make_pool("n1", [t4])
    ]
    one = {"request": "gpu", "driver": t4.driver, "pool": "n1", "device": "gpu-0"}
    status = {"allocation": {"devices": {"results": [one]}}, "reservedFor": [{"uid": "uid-a"}]}
    claim = {"metadata": {"name": "c", "namespace": NAMESPACE}, "status": status}
    changes = [
        Change(kind, Verb.ADDED, at(100), {**body, "metadata": {**body["metadata"], "uid": body["metadata"]["name"]}})
        for kind, body in (*made, ("ResourceClaim", claim))
    ]
    changes += [*life("a", 101, 102, 103), Change("ResourceClaim", Verb.DELETED, at(104), changes[-1].body)]
    waiting = seen(105, Verb.ADDED, "b")
    waiting.body["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "1"

    found = record([*changes, waiting])

    assert [dict(pod.requests.without("cpu", "memory", "pods")) for pod in found.pods] == [{"devices/t4": 1000}] * 2


def changes_of(rows: Iterable[Any]) -> Iterator[Change]:
    for row in rows:
        if isinstance(row, dict):
            for name, moments in row.items():
                yield from life(name, *moments)
        else:
            second, verb, name, *looks = row
            yield seen(second, Verb[verb.upper()], name, **dict(*looks))


@pytest.mark.parametrize("what", RECORDED)
def test_a_record_is_what_was_seen(what: str) -> None:
    """Each for the reason in its name."""
    case = RECORDED[what]
    audit = [logged(*row[:3], **dict(*row[3:])) for row in case.get("audit", ())]
    counts = tuple(case["count"]) if "count" in case else None
    found = record([*changes_of(case["changes"])], audit, counts=counts)

    for pod, said in zip(found.pods, case["pods"], strict=True):
        assert {name: getattr(pod, name) for name in said} == pytest.approx(said)
    said = case.get("record", {})
    assert {name: getattr(found, name) for name in said} == pytest.approx(said)
    assert case.get("error", "") in found.error
    assert bool(found.error) == ("error" in case)


def test_nodes_are_read_with_what_they_can_give() -> None:
    """Sorted by name, so that two records of one run are equal."""
    status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "40"}}
    bodies = [{"metadata": {"name": name}, "status": status} for name in ("n2", "n1")]

    assert make_node_records(bodies, DeviceBook()) == tuple(
        NodeState(name, size(4000, 8 * 2**30, 40)) for name in ("n1", "n2")
    )


HUNGRY = """
import sys
def spend():
    block = bytearray(100_000_000)
    for at in range(0, len(block), 4096):
        block[at] = 1
    return sum(n * n for n in range(1_500_000))
for line in sys.stdin:
    if line.startswith("spend"):
        spend()
    print("done", flush=True)
"""


@pytest.fixture
def hungry() -> Iterator[subprocess.Popen[str]]:
    """Return a process that takes 100 MB and some CPU time, on request."""
    with subprocess.Popen([sys.executable, "-c", HUNGRY], stdin=PIPE, stdout=PIPE, text=True) as process:
        yield process
        process.kill()


def send(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdin
    assert process.stdout
    process.stdin.write(f"{word}\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"


@pytest.mark.parametrize(("before", "within"), [("wait", "spend"), ("spend", "wait")], ids=["in", "before"])
def test_a_peak_counts_for_the_window_that_it_is_in(hungry: subprocess.Popen[str], before: str, within: str) -> None:
    """It is kept though the memory was given back; the burst before does not count."""
    send(hungry, before)
    meter = FootprintMeter([hungry.pid])
    send(hungry, within)

    found = meter.read()
    assert found.peak_memory_bytes is not None
    assert found.cpu_s is not None
    assert (found.peak_memory_bytes > 10**8) == (within == "spend")
    assert (found.cpu_s > 0.011) == (within == "spend")


def test_a_process_that_has_ended_leaves_no_footprint() -> None:
    """What it took is not known, and is not nothing."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()

    assert FootprintMeter([process.pid]).read() == UNKNOWN
    assert FootprintMeter([]).read() == UNKNOWN
