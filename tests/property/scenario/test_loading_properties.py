import tempfile
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from stowage_testbed.amounts.quantity import (
    format_cpu,
    format_memory,
    parse_cpu,
    parse_memory,
)
from stowage_testbed.scenario.errors import Issue, ScenarioIssuesError
from stowage_testbed.scenario.load import load_file

GOOD = yaml.safe_load("""
name: test/case
description: A small scenario.
labels: [a]
parameters:
  size: {type: integer, default: 2}
nodes:
  - count: 2
    cpu: "4"
    memory: 4G
    labels: {a: b}
    taints: [{key: k, effect: NoSchedule}]
workload:
  - {name: web, replicas: "${size}", cpu: 100m, memory: 1G, pod: {nodeSelector: {a: b}}}
  - name: db
    replicas: 1
    pod:
      containers: [{name: a, image: b, resources: {requests: {cpu: 1}}}]
order: [web, db]
arrival: burst
optimizer: {trigger: manual, time_limit_s: 1}
expect:
  tolerance: 0.1
  deterministic:
    placed: {min: 1}
    pending: {web: 1}
    placements: {db: [node-0]}
    groups: [[web]]
  optimizer: {moves: 1, placed_by_priority: {0: 1}, utilisation: {cpu: 0.5}}
variants:
  big: {set: {size: 3}, labels: [b]}
""")

STEPPED = yaml.safe_load("""
version: 1
name: test/case
description: A small scenario with steps.
parameters:
  size: {type: integer, default: 2}
nodes:
  - {count: 2, cpu: "4", memory: 4G}
workload:
  - {name: web, cpu: 100m, memory: 1G, ends_in_s: 1}
  - {name: task}
  - {name: spare, kind: Pod, replicas: 1}
objects:
  peak: {kind: Reservation, metadata: {labels: {a: b}}, spec: {owners: []}}
  lone: {kind: Pod, spec: {containers: []}}
scheduler: {profile: optimizer, optimizer: true, values: {a: 1}}
optimizer: {trigger: manual}
timeouts: {wait: 5}
steps:
  - apply: [web, peak, lone]
  - place: {spare: {node-0: 1}}
  - scale: {workload: web, to: "${size}"}
  - measure: start
  - burst:
      workload: task
      pods: 2
      arrival: {process: gamma, rate_per_s: 2, cv: 2, seed: 1}
      lifetime: {distribution: exponential, mean_s: 2}
  - wait: {for: bound, of: web, count: 1, stable_s: 1, timeout_s: 5}
  - wait: {for: phase, of: peak, is: Available}
  - evict: {workload: web, pods: 1, node: node-0}
  - cordon: node-0
  - uncordon: [node-0]
  - drain: {nodes: [node-1], timeout_s: 3}
  - interrupt: {process: scheduler, how: stop, for_s: 3}
  - taint: {nodes: node-0, key: k, effect: NoSchedule}
  - untaint: {nodes: node-0, key: k}
  - add-nodes: {prefix: late, count: 1, cpu: 1, memory: 1G}
  - remove-nodes: late-0
  - usage: {workload: web, cpu: 1m}
  - ask-for-plan: {plan: pack, execution_mode: DryRun}
  - check: {placed: 1, objects: {peak: {phase: Available, currentOwners: {web: 1}}}}
  - measure: stop
  - delete: [web, peak]
catch: [events, {objects: Node}, {describe: web}]
expect:
  end: {placed: 1, objects: {pack: {there: true}, lone: {nodeName: node-0}}}
  metrics: {t: {max: 2, origin: a, runs: 1, spread: [0.5, 1], margin: 2}}
variants:
  big: {set: {size: 3}}
""")

TRACED = {
    **STEPPED,
    "steps": [
        *STEPPED["steps"],
        {"replay": {"file": "none.csv", "speed": 2, "limit": 3}},
    ],
}

values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(),
    st.sampled_from(
        ["", "x", "${size}", "${no}", "4G", "web", "node-0", "a-${size}", "peak"]
    ),
    st.just([]),
    st.just([None]),
    st.just({}),
    st.just({"a": None}),
)


def places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the place of every value of a document."""
    if not isinstance(value, dict | list):
        return [place]
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return [place, *(p for key, v in inner for p in places(v, (*place, key)))]


def put(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """Return a copy of a document with one value exchanged."""
    if not place:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = put(value[place[0]], place[1:], new)
    return copy


def issues_of(text: str) -> tuple[Issue, ...]:
    """Return what a file is refused for; nothing if it is a scenario."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test" / "case.yaml"
        path.parent.mkdir()
        path.write_text(text, "utf-8", errors="replace")
        try:
            load_file(path)
        except ScenarioIssuesError as error:
            return error.issues
    return ()


@st.composite
def spoilt(draw: st.DrawFn, document: Any) -> Any:
    """Draw a document of which up to three values were exchanged."""
    change = st.tuples(st.sampled_from(places(document)), values)
    changes = draw(st.lists(change, max_size=3))
    for place, value in sorted(changes, key=lambda change: -len(change[0])):
        document = put(document, place, value)
    return document


def test_the_documents_that_are_spoilt_are_good() -> None:
    """Otherwise one issue could hide all others."""
    assert issues_of(yaml.safe_dump(GOOD)) == ()
    assert issues_of(yaml.safe_dump(STEPPED)) == ()


@settings(max_examples=300, deadline=None)
@given(spoilt(GOOD))
def test_any_value_anywhere_is_accepted_or_reported(document: Any) -> None:
    """No mistake of an author may end in a traceback, alone or beside another one."""
    issues = issues_of(yaml.safe_dump(document))

    assert all(issue.line >= 1 and issue.message for issue in issues)


@settings(max_examples=300, deadline=None)
@given(spoilt(STEPPED) | spoilt(TRACED))
def test_any_value_in_steps_is_accepted_or_reported(document: Any) -> None:
    """Steps name each other's things, so that one issue touches many."""
    issues = issues_of(yaml.safe_dump(document))

    assert all(issue.line >= 1 and issue.message for issue in issues)


# The first text waits for the schema, which takes longer on a busy machine.
@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_a_scenario_or_has_issues(text: str) -> None:
    """Half-written files are what editors save."""
    assert all(issue.line >= 1 and issue.message for issue in issues_of(text))


@given(st.integers(0, 2**63))
def test_quantities_survive_being_written(number: int) -> None:
    """What a message shows can be copied into a scenario."""
    assert parse_cpu(format_cpu(number)) == number
    assert parse_memory(format_memory(number)) == number
