"""A trace in virtual time, by the real binary."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli import app
from stowage_testbed.observe.node import Node
from stowage_testbed.simulate.process import find_profile
from stowage_testbed.simulate.trace_answer import make_document, simulate_trace
from stowage_testbed.simulate.virtual_time import pass_time
from stowage_testbed.trace.format import (
    Header,
    Line,
    NodeSeen,
    Owner,
    PodBound,
    PodCame,
    PodEnded,
    PodTemplate,
    Template,
)
from stowage_testbed.trace.reading import Trace
from stowage_testbed.trace.record import TraceWriter

HEADER = Header(1, "2026-01-01T00:00:00Z", "1.37.2")
ROOM = {"cpu": "1", "memory": "1Gi", "pods": "10"}


def make_template(name: str, priority: int) -> Template:
    requests = {"cpu": "750m"}
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    spec = {"containers": [container], "priority": priority}
    return Template(t=0, id=name, template=PodTemplate({}, {}, spec))


def come(t: float, name: str, of: str, owner: Owner | None = None) -> PodCame:
    return PodCame(t=t, namespace="shop", name=name, of=of, owner=owner)


def end(t: float, name: str, ran_s: float) -> PodEnded:
    return PodEnded(t=t, namespace="shop", name=name, how="succeeded", ran_s=ran_s)


def make_story() -> Trace:
    """Return one node for whose room four pods wait in turn."""
    lines: tuple[Line, ...] = (
        NodeSeen(t=0, name="n", node=Node(ROOM, ROOM)),
        make_template("low", 0),
        make_template("high", 5),
        come(0, "before", "low"),
        PodBound(t=0, namespace="shop", name="before", node="n"),
        come(10, "waits", "low", Owner("Job", "waits")),
        end(20, "before", 900),
        PodBound(t=20, namespace="shop", name="waits", node="n"),
        come(30, "first", "high"),
        end(40, "first", 5),
        come(90, "last", "low"),
        PodBound(t=100, namespace="shop", name="last", node="n"),
    )
    return Trace(HEADER, lines)


def test_a_trace_has_the_metrics_of_a_live_run() -> None:
    """Waits, room and ends are what they would be if no time passed for deciding."""
    answer = simulate_trace(make_story(), "story", "default")

    lives = {life.pod: life for life in answer.passed.lives}
    assert {pod: (one.bound_s, one.how) for pod, one in lives.items()} == {
        "shop/before": (0, "succeeded"),
        "shop/waits": (20, "preempted"),
        "shop/first": (30, "succeeded"),
        "shop/waits-again-1": (35, ""),
        "shop/last": (None, ""),
    }
    assert "Insufficient cpu" in lives["shop/last"].reason
    metrics = {metric.name: metric.value for metric in answer.metrics}
    # Waits of 10, 0 and 5 s; the last one still waits.
    assert metrics["t_sched_max_s"] == 10
    assert metrics["t_sched_missing_pods"] == 1
    assert metrics["waiting_mean_pods"] == pytest.approx((10 + 5 + 10) / 100)
    assert metrics["utilisation_cpu_mean"] == pytest.approx(0.75)
    assert metrics["unplaced_pods"] == 1
    means = [part["waiting_pods"] for part in make_document(answer)["course"]]
    assert sum(means) / len(means) == pytest.approx(0.25)


def test_the_command_shows_a_screen_and_writes_every_pod(tmp_path: Path) -> None:
    """What was asked for is there, and the file can be read again."""
    trace, output = tmp_path / "story.jsonl.gz", tmp_path / "answer.json"
    recorded = make_story()
    with TraceWriter(trace, recorded.header) as writer:
        for line in recorded.lines:
            writer.write(line)
    arguments = ["simulate", "--trace", str(trace), "--output", str(output)]

    shown = CliRunner().invoke(app, arguments)
    plain = CliRunner().invoke(app, [*arguments[:3], "--json"])

    assert (shown.exit_code, plain.exit_code) == (0, 0)
    assert "story.jsonl.gz in virtual time, profile default" in shown.output
    assert "Insufficient cpu" in shown.output
    document = json.loads(output.read_text())
    assert len(document.pop("pods")) == 5
    assert document == json.loads(plain.output)
    assert document["pods_by_end"] == {
        "preempted": 1, "succeeded": 2, "running": 1, "pending": 1,
    }  # fmt: skip
    assert document["placed_by_priority"] == [
        {"priority": 5, "pods": 1, "ever_placed": 1, "placed_at_end": 0},
        {"priority": 0, "pods": 4, "ever_placed": 3, "placed_at_end": 1},
    ]


def test_what_goes_wrong_is_told_with_its_cause(tmp_path: Path) -> None:
    """A broken event, and a profile that is none."""
    profile = find_profile("default")
    with pytest.raises(StowageError, match="line 2: at: 0 is before 1"):
        pass_time([{"at": 1}, {"at": 0}], profile)
    broken = tmp_path / "broken.yaml"
    broken.write_text("kind: Nothing\n")
    with pytest.raises(StowageError, match=r"did not come to the end: .*broken\.yaml"):
        pass_time([], broken)
