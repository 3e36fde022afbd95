"""A scenario made of a recorded trace alone, for who has no scenario of it."""

import hashlib
import json
import os
import re
from pathlib import Path

from stowage_testbed.base.errors import InputError
from stowage_testbed.base.files import write_whole
from stowage_testbed.scenario.arrivals.recorded import make_recorded_replay
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.types import LONGEST_LABEL
from stowage_testbed.trace.format import SUFFIXES
from stowage_testbed.trace.reading import read_trace

TOPIC = "traces"  # The topic of such scenarios, and the folder that they stand in

_TEXT = """\
# Made of {file}, whose sha256 is {digest}.
version: 1
name: {topic}/{name}
description: What was recorded in {file}, {speed:g} times as fast.
scheduler: {{profile: default}}
steps:
  - measure: start
  - replay: {{file: {path}, speed: {speed:g}, placed: as-recorded}}
{wait}  - measure: stop
expect:
  end: {{placed: {{min: 0}}}}
catch: [events]
"""

_WAIT = "  - wait: {for: settled, count: 1}\n"


def make_scenario_of_trace(trace: Path, folder: Path, speed: float = 1.0) -> Scenario:
    """Write the scenario of a trace into a folder, and return it.

    Its nodes are the trace's. The measured window closes when all has happened, and each pod has a node or was found
    unschedulable. Raises an InputError if the trace is broken or has no nodes, or the scenario cannot be written.
    """
    replay = make_recorded_replay(read_trace(trace), speed=speed)
    if not replay.first_nodes:
        raise InputError(
            f"{trace} has no nodes at its beginning; write a scenario with `nodes` and a step `replay` of it"
        )
    made = (*replay.first_pods, *(one.body for one in replay.requests))
    stem = trace.name.removesuffix(next(one for one in SUFFIXES if trace.name.endswith(one)))
    words = stem.lower() if speed == 1 else f"{stem.lower()}-x{speed:g}"
    name = re.sub(r"[^a-z0-9]+", "-", words).strip("-")[:LONGEST_LABEL] or "trace"
    path = folder / TOPIC / f"{name}.yaml"
    text = _TEXT.format(
        file=trace.name,
        digest=hashlib.sha256(trace.read_bytes()).hexdigest(),
        topic=TOPIC,
        name=name,
        speed=speed,
        # JSON's way of quoting is YAML's too.
        path=json.dumps(os.path.relpath(trace, path.parent)),
        # There must be pods at the end, on all of which the scheduler decides.
        wait=_WAIT if replay.left and not any("schedulingGates" in (one.get("spec") or {}) for one in made) else "",
    )
    try:
        write_whole(path, text)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
    (scenario,) = load_file(path)
    return scenario
