"""Traces of arrivals: what they become, and every issue with its line."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from amounts import asked
from stowage_testbed.scenario.arrivals.trace import Template, TraceRow, list_pods, make_replay
from stowage_testbed.scenario.arrivals.trace_file import read_trace

from stowage_testbed.scenario.arrivals.process import ArrivalProcess, Distribution, Lifetime, Process
from stowage_testbed.scenario.errors import ScenarioIssuesError
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.steps.arriving import Replay

HEADER = "arrival_s,owner,cpu,memory,priority,replicas,lifetime_s\n"
SMALL, BIG = Template(asked(100, 10**9)), Template(asked(2000, 10**9))


def a_file(tmp_path: Path, text: str, suffix: str = ".csv") -> Path:
    path = tmp_path / f"trace{suffix}"
    path.write_text(text, "utf-8")
    return path


CSV = f"# recorded\n{HEADER}\n0.5,web,100m,1G,,,\n2,job,1,2Gi,-5,3,1.5\n"
JSON = json.dumps(
    [
        {"arrival_s": 0.5, "owner": "web", "cpu": "100m", "memory": "1G"},
        {"arrival_s": 2, "owner": "job", "cpu": 1, "memory": "2Gi", "priority": -5,
         "replicas": 3, "lifetime_s": 1.5, "pod": None},
    ]
)  # fmt: skip


@pytest.mark.parametrize(("text", "suffix"), [(CSV, ".csv"), (JSON, ".json")])
def test_a_row_is_read_with_its_defaults(text: str, suffix: str, tmp_path: Path) -> None:
    """Comments, empty lines and empty fields are for people; JSON says the same."""
    assert read_trace(a_file(tmp_path, text, suffix)).rows == (
        TraceRow(0.5, "web", SMALL),
        TraceRow(2.0, "job", Template(asked(1000, 2 * 2**30), -5), 3, "", 1.5),
    )


BAD: dict[str, dict[str, Any]] = yaml.safe_load((Path(__file__).parents[1] / "bad" / "traces.yaml").read_text("utf-8"))
OF_A_CORE = Template(asked(1000, 10**9)).template_id


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_every_issue_of_a_trace_is_reported_at_once(case: dict[str, Any], tmp_path: Path) -> None:
    """With the line in which it stands."""
    suffix = "json" if "json" in case else "csv"
    found = sorted(
        (f"{issue.line}: {issue.message}".replace(OF_A_CORE, "OF_A_CORE"))
        for issue in read_trace(a_file(tmp_path, case[suffix], f".{suffix}")).issues
    )

    assert len(found) == len(case["issues"])
    for one, issue in zip(found, sorted(case["issues"]), strict=True):
        assert one.startswith(issue)


def test_a_pod_is_named_by_owner_and_template() -> None:
    """So that it is the same pod whatever else is replayed, and in what order."""
    rows = [
        TraceRow(1.0, "web", SMALL, replicas=2),
        TraceRow(0.0, "web", BIG),
        TraceRow(2.0, "web", SMALL),
        TraceRow(2.0, "job", SMALL, pod="first"),
    ]
    small, large = SMALL.template_id, BIG.template_id

    assert small != large
    assert [pod.name for pod in list_pods(rows)] == [
        f"web-{large}-0", f"web-{small}-0", f"web-{small}-1", f"web-{small}-2",
        f"job-{small}-first",
    ]  # fmt: skip


def test_speed_and_limit_change_times_and_number() -> None:
    """A day can be replayed in an hour, or its first minutes only."""
    rows = [TraceRow(10.0, "a", SMALL, 2, lifetime_s=4.0), TraceRow(30.0, "a", SMALL)]
    pods = make_replay(rows, speed=2.0, limit=None)

    assert [(pod.at_s, pod.lifetime_s) for pod in pods] == [(5, 2), (5, 2), (15, None)]
    assert len(make_replay(rows, speed=1.0, limit=1)) == 1


SCENARIO = """\
version: 1
name: test/case
description: A trace on one node.
nodes: [{count: 1, cpu: "4", memory: 4G}]
steps:
  - replay: {file: trace.csv, speed: 2, limit: 2}
  - wait: {for: bound}
expect:
  end: {placed: 2, pending: {web: 0}}
"""


def test_the_owners_of_a_trace_stand_in_the_place_of_workloads(tmp_path: Path) -> None:
    """Both files are the author's, and the issues of both are reported."""
    path, trace = tmp_path / "test" / "case.yaml", tmp_path / "test" / "trace.csv"
    path.parent.mkdir()
    path.write_text(SCENARIO)
    trace.write_text(f"{HEADER}1,web,1,1G,7,5,\n")
    (scenario,) = load_file(path)

    replay = scenario.steps[1].action
    assert isinstance(replay, Replay)
    assert [(pod.owner, pod.at_s) for pod in replay.pods] == [("web", 0.5)] * 2
    assert (scenario.pod_count, scenario.priorities) == (2, (7,))
    path.write_text(SCENARIO.replace("count: 1", "count: 0"))
    trace.write_text(f"{HEADER}1,web,many,1G,,,\n")
    with pytest.raises(ScenarioIssuesError) as caught:
        load_file(path)
    places = [(issue.path.name, issue.line) for issue in caught.value.issues]
    assert places == [("case.yaml", 4), ("trace.csv", 2)]


MANY = 20_000
RATE_PER_S = 25.0

POISSON_OF_SEED_7 = [0.03657223299073608, 0.13681082743103085, 0.1583814340686228]
GAMMA_OF_SEED_7 = [0.007324499239548602, 0.2838248193791336, 8.865578814652233]


def gaps_s(process: ArrivalProcess) -> list[float]:
    return [later - earlier for earlier, later in pairwise([0, *process.times_s(MANY)])]


@pytest.mark.parametrize(
    ("process", "distribution", "asked", "cv"),
    [
        ("constant", "constant", 1.0, 0.0),
        ("uniform", "uniform", 1.0, 1 / math.sqrt(3)),
        ("poisson", "exponential", 1.0, 1.0),
        ("gamma", "gamma", 0.5, 0.5),
        ("gamma", "gamma", 3.0, 3.0),
    ],
)
def test_intervals_and_lifetimes_have_the_mean_and_the_variation_asked_for(
    process: Process, distribution: Distribution, asked: float, cv: float
) -> None:
    """The variation tells a steady stream from one that comes in clusters.

    Load is arrivals times lifetime: a wrong mean is a wrong load.
    """
    for drawn, mean in (
        (gaps_s(ArrivalProcess(process, RATE_PER_S, asked, seed=1)), 1 / RATE_PER_S),
        (Lifetime(distribution, 4.0, asked, seed=2).draws_s(MANY), 4.0),
    ):
        # The standard error of the mean is the cv over the root of the sample.
        error = max(cv, 1e-9) / math.sqrt(MANY)
        assert np.mean(drawn) / mean == pytest.approx(1.0, abs=5 * error)
        assert np.std(drawn) / np.mean(drawn) == pytest.approx(cv, rel=0.06, abs=1e-6)
        assert min(drawn) >= 0


@pytest.mark.parametrize("process", ["uniform", "poisson", "gamma"])
def test_a_seed_gives_the_same_times_each_time(process: Process) -> None:
    """Two schedulers must see the same arrivals, and a smoke run the beginning."""
    one = ArrivalProcess(process, 10.0, 2.0, 2**63).times_s(50)

    assert one == ArrivalProcess(process, 10.0, 2.0, 2**63).times_s(1000)[:50]
    assert one != ArrivalProcess(process, 10.0, 2.0, 2**63 + 1).times_s(50)


def test_the_streams_are_the_same_with_every_version_of_the_library() -> None:
    """Results that are kept are compared with later ones; at once needs no rate."""
    poisson = ArrivalProcess("poisson", 10.0, seed=7).times_s(3)
    gamma = Lifetime("gamma", 2.0, 1.5, seed=7).draws_s(3)

    assert poisson == pytest.approx(POISSON_OF_SEED_7, abs=1e-12)
    assert gamma == pytest.approx(GAMMA_OF_SEED_7, abs=1e-12)
    assert ArrivalProcess("at-once").times_s(3) == [0.0, 0.0, 0.0]


def test_arrivals_and_lifetimes_of_one_seed_have_nothing_to_do_with_each_other() -> None:
    """Else pods that come late would be pods that run long."""
    gaps = gaps_s(ArrivalProcess("poisson", 1.0, seed=9))
    lifetimes = Lifetime("exponential", 1.0, seed=9).draws_s(MANY)

    assert abs(np.corrcoef(gaps, lifetimes)[0, 1]) < 5 / math.sqrt(MANY)
