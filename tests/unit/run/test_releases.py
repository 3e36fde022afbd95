"""The release that serves a run: its settings, its logs, and when it is kept."""

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from amounts import asked

from stowage_testbed.api.objects import Objects
from stowage_testbed.api.pod_templates import PodOverrides, apply_overrides
from stowage_testbed.helm.release import Release, file_log
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.listener import Listener, RunRecorder
from stowage_testbed.run.release import Serving, Wanted, make_optimizer_values, read_installed
from stowage_testbed.scenario.manifests import make_bare_pod, make_controller
from stowage_testbed.scenario.model import OptimizerSettings, Workload
from stowage_testbed.simulate.instance import NO_PROTECTION

LABELS = {"app.kubernetes.io/instance": "stowage"}
WANTED = Wanted("deterministic", optimizer_enabled=False)


METADATA = {"name": "stowage", "labels": LABELS, "uid": "1"}
COUNTS = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), 1)
STATUS = {"observedGeneration": 1, **COUNTS}
RUNS = {"name": "scheduler", "ready": True, "restartCount": 0}
THERE: dict[str, dict[str, Any]] = {
    "Deployment": {"metadata": {**METADATA, "generation": 1}, "spec": {"replicas": 1}, "status": STATUS},
    "ConfigMap": {"metadata": METADATA, "data": {"scheduler.yaml": "a: 1"}},
    "Pod": {"metadata": METADATA, "status": {"containerStatuses": [RUNS]}},
}


def listing(there: dict[str, dict[str, Any]]) -> Objects:
    """Return what lists these objects, by kind."""
    return cast("Objects", SimpleNamespace(list_all=lambda kind, _: [there[kind]]))


@pytest.mark.parametrize(
    ("wanted", "kind", "changed"),
    [
        (WANTED, "", {}),
        (replace(WANTED, profile="default"), "", {}),
        (replace(WANTED, optimizer_enabled=True), "", {}),
        (replace(WANTED, values={"scheduler": {}}), "", {}),
        # A scenario may scale it to nothing, kill it, or edit its configuration.
        (WANTED, "Deployment", {"spec": {"replicas": 0}}),
        (WANTED, "Deployment", {"status": {**STATUS, "availableReplicas": 0}}),
        (WANTED, "ConfigMap", {"data": {"scheduler.yaml": "a: 2"}}),
        (WANTED, "Pod", {"metadata": {**METADATA, "uid": "2"}}),
        *(
            (WANTED, "Pod", {"status": {"containerStatuses": [RUNS | one]}})
            for one in ({"ready": False}, {"restartCount": 1})
        ),
    ],
)
def test_the_same_release_is_kept_until_it_is_changed(wanted: Wanted, kind: str, changed: dict[str, Any]) -> None:
    """Starting anew costs more than most scenarios; another would place otherwise."""
    release = Release(cast("Any", None), "stowage", "system")
    serving = Serving(release, WANTED, "", read_installed(release, listing(THERE)))
    there = listing({**THERE, **({kind: THERE[kind] | changed} if kind else {})})

    assert serving.still_is(wanted, there) is (wanted == WANTED and not kind)


def test_settings_become_the_plugins_own_arguments() -> None:
    """The chart's care is lifted only where a scenario that proves nothing asks."""
    settings = OptimizerSettings(
        trigger="manual", time_limit_s=10, settle_s=0.2, policy="paper", strategy="first-fit-decreasing"
    )
    careful = make_optimizer_values(settings)["priorityOptimizer"]
    harmful = make_optimizer_values(replace(settings, harm="any"))["priorityOptimizer"]

    assert careful == {
        "trigger": "Manual",
        "settleSeconds": 0.2,
        "timeLimitSeconds": 10,
        "policy": "Paper",
        "strategy": "first-fit-decreasing",
    }
    assert harmful == careful | NO_PROTECTION


WEB = Workload("web", 2, requests=asked(100, 10**9), labels={"queue": "mine"})
OVERRIDES = PodOverrides("yunikorn", labels={"queue": "theirs", "applicationId": "a"}, annotations={"x": "y"})


@pytest.mark.parametrize(
    "manifest",
    [
        make_controller(WEB, "ns"),
        make_bare_pod(WEB, "web-0", "ns", 1.5),
        {"kind": "Pod", "metadata": {"labels": {}}, "spec": {"containers": []}},
    ],
    ids=["of a controller", "of a burst", "a written one"],
)
def test_every_pod_gets_the_overrides(manifest: dict[str, Any]) -> None:
    """By its own labels a controller finds its pods: they stay as they are."""
    before = deepcopy(manifest)
    made = apply_overrides(manifest, OVERRIDES)
    pod = made["spec"].get("template", made)

    assert pod["spec"]["schedulerName"] == "yunikorn"
    assert pod["metadata"]["annotations"]["x"] == "y"
    assert pod["metadata"]["labels"]["applicationId"] == "a"
    if pod is not made:
        assert pod["metadata"]["labels"]["queue"] == "mine"
        assert "applicationId" not in made["metadata"]["labels"]
        assert made["spec"]["selector"] == before["spec"]["selector"]
    # The next arm gets its own, and `stowage run` uses the default scheduler.
    assert manifest == before
    assert apply_overrides(manifest, None) is manifest


def test_a_reservation_is_no_pod() -> None:
    """Though it has a template of one."""
    template = {"spec": {"containers": [{"name": "main"}]}}
    reserved = {"kind": "Reservation", "spec": {"template": template, "owners": []}}

    assert apply_overrides(reserved, OVERRIDES) == reserved


def recorded(log: Path, *, kept: bool) -> RunRecorder:
    """Return a recorder that follows a release which has said something."""
    context = SimpleNamespace(
        cluster=SimpleNamespace(audit_log=log.parent / "audit.log"), observer=SimpleNamespace(restart_journal=list)
    )
    release = SimpleNamespace(logs=lambda: {"scheduler": file_log(log)})
    recorder = RunRecorder(cast("RunContext", context), "ns", Listener())
    wanted = Wanted("default", optimizer_enabled=False)
    recorder.note_release(Serving(cast("Any", release), wanted, "", kept=kept))
    return recorder


@pytest.mark.parametrize(("kept", "said"), [(True, "said now\n"), (False, "said before\nsaid now\n")])
def test_a_new_release_is_heard_from_its_start_and_a_kept_one_from_now(tmp_path: Path, kept: bool, said: str) -> None:
    """What it said of other scenarios explains nothing of this one."""
    log = tmp_path / "scheduler.log"
    log.write_text("said before\n")
    recorder = recorded(log, kept=kept)

    with log.open("a") as file:
        file.write("said now\n")

    assert recorder.log_texts() == {"default-scheduler": said}
