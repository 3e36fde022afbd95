"""Every way to write steps wrongly: the place that is named, and the way out."""

from pathlib import Path

import pytest

from stowage_testbed.scenario.errors import ScenarioIssuesError
from stowage_testbed.scenario.load import load_file

GOOD = """\
version: 1
name: test/case
description: A small scenario with steps.
nodes:
  - {count: 2, cpu: "4", memory: 4G}
workload:
  - {name: web, kind: Deployment, cpu: 100m, memory: 1G}
  - {name: db, replicas: 1, cpu: 100m, memory: 2G}
  - {name: task, cpu: 100m, memory: 1M}
objects:
  peak: {kind: Reservation, spec: {owners: [], template: {}}}
scheduler: {profile: optimizer, optimizer: true}
steps:
  - apply: [db, peak, web]
  - measure: start
  - scale: {workload: web, to: 3}
  - wait: {for: bound, of: [web, db]}
  - burst: {workload: task, pods: 10, arrival: {process: poisson, rate_per_s: 10}}
  - wait: {for: phase, of: peak, is: Available}
  - cordon: node-0
  - check: {placed: 14, objects: {peak: {phase: Available}}}
  - measure: stop
expect:
  end: {placed: 14}
  metrics:
    t: {max: 2, origin: here, runs: 3, spread: [0.5, 1], margin: 2}
"""


def issues_of(tmp_path: Path, text: str) -> list[str]:
    """Return the issues of a file as ``line:column: message``; none if it is good."""
    path = tmp_path / "test" / "case.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    try:
        load_file(path)
    except ScenarioIssuesError as error:
        return [str(issue).removeprefix(f"{path}:") for issue in error.issues]
    return []


WAIT = "wait: {for: bound, of: [web, db]}"
PHASE = "wait: {for: phase, of: peak, is: Available}"
BURST = "burst: {workload: task, pods: 10, arrival: {process: poisson, rate_per_s: 10}}"
ARRIVAL = "{process: poisson, rate_per_s: 10}"
CHECK = "check: {placed: 14, objects: {peak: {phase: Available}}}"
BOUND = "{max: 2, origin: here, runs: 3, spread: [0.5, 1], margin: 2}"

CASES = {
    "a version that is not known": (
        "version: 1",
        "version: 2",
        "1:10: version cannot be 2; known are 1",
    ),
    "steps without a version": (
        "version: 1\n",
        "",
        "12:1: steps belong to version 1 of the language; add `version: 1`",
    ),
    "a word of scenarios in two halves": (
        "nodes:",
        "arrival: burst\nnodes:",
        "4:1: 'arrival' has no place beside `steps`; remove it",
    ),
    "no expectation of the end": (
        "  end: {placed: 14}\n",
        "",
        "24:3: expect lacks the key 'end'; add it. When the steps are done and "
        "nothing changes any more.",
    ),
    "an empty expectation": (
        "end: {placed: 14}",
        "end: {}",
        "24:8: expect.end is empty; fill it or remove it",
    ),
    "an unknown kind of step": (
        "cordon: node-0",
        "cordn: node-0",
        "20:5: unknown key 'cordn' in steps[6]; did you mean 'cordon'?",
    ),
    "two kinds in one step": (
        "cordon: node-0",
        "cordon: node-0\n    uncordon: node-0",
        "20:5: steps[6] has the keys 'cordon' and 'uncordon'; keep one and move the "
        "others",
    ),
    "a step that is no mapping": (
        "- cordon: node-0",
        "- cordon",
        "20:5: steps[6] must be a mapping, not the text 'cordon'",
    ),
    "an unknown workload that is applied": (
        "apply: [db, peak, web]",
        "apply: [db, peak, wep]",
        "14:23: no workload or object is called 'wep'; did you mean 'web'?",
    ),
    "an object that is scaled": (
        "scale: {workload: web",
        "scale: {workload: peak",
        "16:23: no workload is called 'peak'; known are web, db, task",
    ),
    "a negative scale": (
        "to: 3}",
        "to: -3}",
        "16:32: steps[2].scale.to must be at least 0, not -3",
    ),
    "an unknown node that is drained": (
        "cordon: node-0",
        "drain: {nodes: [node-0, node-7]}",
        "20:29: no node is called 'node-7'; did you mean 'node-1'?",
    ),
    "an unknown node": (
        "cordon: node-0",
        "cordon: [node-0, node-7]",
        "20:22: no node is called 'node-7'; did you mean 'node-1'?",
    ),
    "a node that is added later": (
        "cordon: node-0",
        'cordon: late-0\n  - add-nodes: {prefix: late, count: 1, cpu: "1", memory: 1G}',
        "20:13: node 'late-0' is not there at this step; add it before, or later "
        "remove",
    ),
    "nodes that are there already": (
        "cordon: node-0",
        'add-nodes: {count: 1, cpu: "1", memory: 1G}',
        "20:16: node 'node-0' comes already from line 5; give one of them another "
        "prefix",
    ),
    "something that is applied twice": (
        "cordon: node-0",
        "apply: web",
        "20:12: 'web' was applied already in line 14; delete it before",
    ),
    "something that is used before it is there": (
        "apply: [db, peak, web]",
        "wait: {for: bound, of: db, count: 1}\n  - apply: [db, peak, web]",
        "14:28: 'db' is not there at this step; apply it before",
    ),
    "something that is used after it was deleted": (
        "cordon: node-0",
        "delete: web\n  - scale: {workload: web, to: 1}",
        "21:23: 'web' is not there at this step; apply it before",
    ),
    "something that is named twice": (
        "apply: [db, peak, web]",
        "apply: [db, peak, web, web]",
        "14:12: steps[0].apply names a word twice; keep one",
    ),
    "a workload that nothing uses": (
        "  - {name: task,",
        "  - {name: more, cpu: 1m}\n  - {name: task,",
        "9:5: workload 'more' is used by no step; apply it or remove it",
    ),
    "an object that nothing uses": (
        "apply: [db, peak, web]",
        "apply: [db, web]",
        "11:3: object 'peak' is used by no step; apply it or remove it",
    ),
    "an object that bears the name of a workload": (
        "scheduler:",
        "  web: {kind: Service, spec: {}}\nscheduler:",
        "12:3: 'web' is a workload already; choose another name",
    ),
    "an object of an unknown kind": (
        "kind: Reservation",
        "kind: Reservations",
        "11:16: objects.peak.kind cannot be the text 'Reservations'; did you mean "
        "'Reservation'?",
    ),
    "a reservation that no scheduler respects": (
        "scheduler: {profile: optimizer, optimizer: true}",
        "scheduler: {profile: default}",
        "11:16: the scheduler's profile default does not know reservations; choose "
        "optimizer or optimizer-deterministic",
    ),
    "an optimiser that the profile does not know": (
        "scheduler: {profile: optimizer,",
        "scheduler: {profile: default,",
        "12:22: profile default does not know the optimiser; choose optimizer or "
        "optimizer-deterministic",
    ),
    "a plan that nobody makes": (
        ", optimizer: true}\nsteps:",
        "}\nsteps:\n  - trigger: {plan: pack}",
        "14:5: nobody makes plans; add `scheduler: {profile: optimizer, optimizer: "
        "true}`",
    ),
    "settings of an optimiser that is not there": (
        ", optimizer: true}\nsteps:",
        "}\noptimizer: {time_limit_s: 1}\nsteps:",
        "13:1: the scheduler runs without the optimiser; add `scheduler: {profile: "
        "optimizer, optimizer: true}`",
    ),
    "a phase that is not named": (
        PHASE,
        "wait: {for: phase, of: peak}",
        "19:11: a wait for a phase says which; add `is`, as in is: Available",
    ),
    "a phase of several objects": (
        PHASE,
        "wait: {for: phase, of: [peak], is: Available}",
        "19:11: a wait for a phase is of one object; write its name as `of`",
    ),
    "a phase of a workload": (
        PHASE,
        "wait: {for: phase, of: web, is: Available}",
        "19:28: no object is called 'web'; known are peak",
    ),
    "a phase where pods are waited for": (
        WAIT,
        "wait: {for: bound, of: web, is: Available}",
        "17:33: only a wait for `phase` says what it is; remove it, or 'bound'",
    ),
    "a count of what is gone": (
        WAIT,
        "wait: {for: gone, of: web, count: 1}",
        "17:32: what is gone cannot be counted; remove `count`",
    ),
    "an unknown condition": (
        WAIT,
        "wait: {for: bund}",
        "17:17: steps[3].wait.for cannot be the text 'bund'; did you mean 'bound'?",
    ),
    "a state that is stable for too long": (
        WAIT,
        "wait: {for: bound, stable_s: 5, timeout_s: 5}",
        "17:34: stable_s 5 is not below timeout_s 5; change one of them",
    ),
    "a wait for no pods": (
        "apply: [db, peak, web]",
        "wait: {for: bound}\n  - apply: [db, peak, web]",
        "14:11: the steps before have asked for no pod; write `count`, or wait later",
    ),
    "a rate that is missing": (
        ARRIVAL,
        "{process: poisson}",
        "18:48: process poisson needs `rate_per_s`, the pods a second; add it",
    ),
    "a rate of what comes at once": (
        ARRIVAL,
        "{process: at-once, rate_per_s: 10}",
        "18:67: pods that come at once have no rate; remove it",
    ),
    "a variation that is missing": (
        ARRIVAL,
        "{process: gamma, rate_per_s: 10}",
        "18:48: gamma needs `cv`, the coefficient of variation; add it",
    ),
    "a variation of what has its own": (
        ARRIVAL,
        "{process: poisson, rate_per_s: 10, cv: 2}",
        "18:83: poisson has a fixed coefficient of variation; remove `cv`",
    ),
    "a seed of what is not drawn": (
        ARRIVAL,
        "{process: constant, rate_per_s: 10, seed: 2}",
        "18:84: constant draws nothing; remove `seed`",
    ),
    "a lifetime without a mean": (
        ARRIVAL + "}",
        ARRIVAL + ", lifetime: {distribution: constant}}",
        "18:94: steps[4].burst.lifetime lacks the key 'mean_s'; add it. Seconds that a "
        "pod runs on average before it is done.",
    ),
    "a burst like a workload that is applied": (
        BURST,
        "burst: {workload: db, pods: 1}",
        "18:23: workload 'db' is applied too, and its controller would take the "
        "burst's pods for its own; write a second workload",
    ),
    "a number of pods for several controllers": (
        "{name: web, kind: Deployment,",
        "{name: web, controllers: 2, kind: Deployment,",
        "16:23: web has several controllers, and a number of pods is one controller's; "
        "scale a workload without `controllers`",
    ),
    "usage of nothing": (
        "cordon: node-0",
        "usage: {workload: web}",
        "20:12: usage of what? write `cpu`, `memory` or both",
    ),
    "a trace that is not there": (
        "cordon: node-0",
        "replay: {file: none.csv}",
        "20:20: cannot read none.csv: No such file or directory; name a .csv or .json "
        "file, relative to this one",
    ),
    "a window that begins twice": (
        "measure: stop",
        "measure: start",
        "22:14: here the window should stop; exchange the steps",
    ),
    "a window that never ends": (
        "  - measure: stop\n",
        "",
        "15:14: the measured window never stops; add `measure: stop`",
    ),
    "more pods expected in the middle than there are": (
        CHECK,
        "check: {placed: 15}",
        "21:21: the scenario has only 14 pods; expect no more of them",
    ),
    "an unknown object that is expected": (
        CHECK,
        "check: {objects: {paek: {phase: Available}}}",
        "21:23: no object is called 'paek'; did you mean 'peak'?",
    ),
    "an unknown owner that is expected": (
        CHECK,
        "check: {objects: {peak: {currentOwners: {wep: 1}}}}",
        "21:46: no workload is called 'wep'; did you mean 'web'?",
    ),
    "a node of an object that is not there": (
        CHECK,
        "check: {objects: {peak: {nodeName: node-9}}}",
        "21:40: no node is called 'node-9'; did you mean 'node-1'?",
    ),
    "a bound without an origin": (
        BOUND,
        "{max: 2, runs: 3, spread: [0.5, 1], margin: 2}",
        "26:8: expect.metrics.t lacks the key 'origin'; add it. Where the bound comes "
        "from - what was run, on which machine.",
    ),
    "a bound that bounds nothing": (
        BOUND,
        "{origin: here, runs: 3, spread: [0.5, 1], margin: 2}",
        "26:8: there is no bound; write `min` or `max`",
    ),
    "a bound that does not follow from its origin": (
        BOUND,
        "{max: 5, origin: here, runs: 3, spread: [0.5, 1], margin: 2}",
        "26:14: max 5 does not follow from its origin: the worst value 1 with margin 2 "
        "gives 2; fix the one that is wrong",
    ),
    "a spread the wrong way round": (
        BOUND,
        "{max: 2, origin: here, runs: 3, spread: [1, 0.5], margin: 2}",
        "26:48: the lowest value 1 is above the highest 0.5; exchange them",
    ),
    "a spread of one value": (
        BOUND,
        "{max: 2, origin: here, runs: 3, spread: [1], margin: 2}",
        "26:48: expect.metrics.t.spread must have 2 entries, not 1",
    ),
    "metrics of no window": (
        "  - measure: start\n",
        "",
        "21:14: here the window should start; exchange the steps",
    ),
    "an unknown name to be described": (
        "expect:",
        "catch: [events, {describe: wep}]\nexpect:",
        "23:28: no workload or object is called 'wep'; did you mean 'web'?",
    ),
    "an unknown thing to be caught": (
        "expect:",
        "catch: [evnts]\nexpect:",
        "23:9: catch[0] cannot be the text 'evnts'; did you mean 'events'?",
    ),
    "a time-out of an unknown kind of step": (
        "expect:",
        "timeouts: {wiat: 10}\nexpect:",
        "23:12: unknown key 'wiat' in timeouts; did you mean 'wait'?",
    ),
}


def test_the_scenario_that_all_cases_start_from_is_good(tmp_path: Path) -> None:
    """Otherwise the cases would show the issues of their frame."""
    assert issues_of(tmp_path, GOOD) == []


@pytest.mark.parametrize("case", CASES)
def test_an_issue_of_steps_is_named_with_its_place_and_the_way_out(
    case: str, tmp_path: Path
) -> None:
    """An author should be able to fix the file without reading our code."""
    old, new, issue = CASES[case]
    assert GOOD.count(old) == 1

    assert issue in issues_of(tmp_path, GOOD.replace(old, new))


def test_all_issues_of_steps_are_reported_at_once(tmp_path: Path) -> None:
    """Mending one issue at a time costs one run each."""
    text = GOOD.replace("to: 3", "to: -3").replace("cordon: node-0", "cordn: node-0")
    text = text.replace("kind: Reservation", "kind: Reserve")
    text = text.replace("margin: 2", "margin: 0")

    lines = [int(issue.split(":")[0]) for issue in issues_of(tmp_path, text)]

    assert lines == [11, 16, 20, 26]


HALVES = """\
name: test/case
description: A scenario in two halves.
nodes: [{count: 1, cpu: "4", memory: 4G}]
workload: [{name: web, replicas: 1}]
expect: {deterministic: {}, optimizer: {}}
"""


@pytest.mark.parametrize(
    ("line", "issue"),
    [
        ("catch: [events]", "'catch' has a meaning only with `steps`; write them,"),
        ("objects: {a: {}}", "'objects' has a meaning only with `steps`; write them,"),
    ],
)
def test_words_of_steps_have_no_place_without_them(
    line: str, issue: str, tmp_path: Path
) -> None:
    """They would do nothing, and their author would not learn it."""
    assert issues_of(tmp_path, HALVES) == []
    assert issues_of(tmp_path, f"{HALVES}{line}\n")[0].startswith(f"6:1: {issue}")


def test_a_version_may_stand_without_steps_too(tmp_path: Path) -> None:
    """A file that is rewritten need not lose it."""
    assert issues_of(tmp_path, f"version: 1\n{HALVES}") == []


@pytest.mark.parametrize(
    ("variant", "issues"),
    [
        ("{to: 4}", []),
        ("{to: few}", ["5:21: parameter 'to' takes values of type integer; write"]),
        ("{to: -1}", ["5:21: steps[2].scale.to must be at least 0, not -1"]),
        # The expectations are those of the default run.
        ("{to: 2}", ["25:21: the scenario has only 13", "28:17: the scenario has on"]),
    ],
)
def test_parameters_and_variants_work_in_steps(
    variant: str, issues: list[str], tmp_path: Path
) -> None:
    """One file serves a burst of 40 and one of 200."""
    head = f"variants:\n  other: {{set: {variant}}}\n"
    head += "parameters:\n  to: {type: integer, default: 3}\n"
    text = GOOD.replace("nodes:\n", f"{head}nodes:\n", 1)

    found = issues_of(tmp_path, text.replace("to: 3}", 'to: "${to}"}'))

    assert [one[: len(issue)] for one, issue in zip(found, issues, strict=False)] == (
        issues
    )
    assert bool(found) == bool(issues)
