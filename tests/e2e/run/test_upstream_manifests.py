"""Manifests of others, as they are: of Kubernetes' own tests, of Kueue, of Volcano."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from go_module import go_module
from step_environment import StepEnvironment

from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.run.context import RunContext
from stowage_testbed.scenario.errors import ScenarioIssuesError
from stowage_testbed.scenario.load import load_file

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

SCENARIOS = Path(__file__).parent / "upstream"
FOLDERS = {
    "perf": ("k8s.io/kubernetes@v1.36.3", "test/integration/scheduler_perf"),
    "e2e": ("k8s.io/kubernetes@v1.36.3", "test/e2e/testing-manifests"),
    "kueue": ("sigs.k8s.io/kueue", "."),
    "volcano": ("volcano.sh/volcano", "."),
}
"""What the scenarios call the folders of the modules."""

REFUSED = {
    "dra/templates/another-resourceclaimtemplate.yaml": "unknown field "
    '"spec.spec.controller"',
    "dra/templates/deviceclass-consumablecapacity.yaml": "serves no DeviceClass of "
    "resource.k8s.io/v1beta2 but DeviceClass of resource.k8s.io/v1",
    "dra/templates/devicetaintrule.yaml": "serves no DeviceTaintRule",
    "dra/templates/resourceclaimtemplate-consumablecapacity.yaml": "serves no "
    "ResourceClaimTemplate of resource.k8s.io/v1beta2",
    # scheduler_perf switches the admission of priorities off.
    "templates/pod-high-priority.yaml": "the integer value of priority (10) must not",
    "templates/pod-high-priority-large-cpu.yaml": "the integer value of priority (10)",
    # It begins with a small letter.
    "templates/pod-with-node-inclusion-policy.yaml": "unknown field "
    '"spec.topologySpreadConstraints[0].NodeAffinityPolicy"',
}
"""What the server says of templates that it does not take as they are."""

NAMELESS = (
    "templates/namespace-with-labels.yaml",
    "templates/pv-aws.yaml",
    "templates/pv-csi.yaml",
    "templates/pvc-once-pod.yaml",
    "templates/pvc.yaml",
)
"""Templates to which scheduler_perf gives a name of its own."""

OF_SCHEDULING = re.compile(
    r"[aA]ffinity|topologySpread|overhead|runtimeClass|priorityClass|PriorityClass|"
    r"PersistentVolumeClaim|volumeClaimTemplates|ResourceClaim"
)
"""By what the manifests for e2e tests are chosen; most are of other subjects."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of the scenarios, in which those of the modules seem to lie."""
    copied = shutil.copytree(SCENARIOS, tmp_path / "upstream")
    for name, (module, inside) in FOLDERS.items():
        (copied / name).symlink_to(go_module(module) / inside)
    return copied


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left(context: RunContext) -> Iterator[None]:
    """Compare what the cluster holds after all tests with what it held before."""
    before = what_is_there(context)
    yield
    wait_until(
        "all that the scenarios made to be gone",
        lambda: what_is_there(context) - before,
        lambda left: not left,
        timeout_s=HANG_S,
    )


@pytest.mark.parametrize("name", sorted(one.stem for one in SCENARIOS.glob("*.yaml")))
def test_they_mean_here_what_they_mean_to_their_authors(
    environment: StepEnvironment, folder: Path, name: str
) -> None:
    """What that is stands in each scenario."""
    for scenario in load_file(folder / f"{name}.yaml"):
        outcome = environment.play_scenario(scenario)

        wrong = [one.message for one in outcome.failed_checks]
        assert (scenario.variant, outcome.error, wrong) == (scenario.variant, "", [])


@pytest.mark.parametrize(("template", "words"), REFUSED.items())
def test_what_the_server_does_not_take_is_told_in_its_words(
    environment: StepEnvironment, template: str, words: str
) -> None:
    """With the place in the file; it may stand anywhere on the machine."""
    path = template_of(template)

    outcome = environment.play(
        f"steps: [apply: [web, {path}]]\nexpect: {{end: {{placed: 0}}}}\n"
    )

    assert not any(one.error == "" for one in outcome.steps if one.step.line)
    assert f"{path}:1: " in outcome.error
    assert words in outcome.error


@pytest.mark.parametrize("template", NAMELESS)
def test_what_has_no_name_is_told_when_the_scenario_is_read(
    tmp_path: Path, template: str
) -> None:
    """A server would not take it either."""
    file, path = tmp_path / "case.yaml", template_of(template)
    file.write_text(f"steps: [apply: {path}]\n", "utf-8")

    with pytest.raises(ScenarioIssuesError, match=f"{path}:1: .*without metadata.name"):
        load_file(file)


def test_no_manifest_is_passed_over(folder: Path) -> None:
    """The next version may bring others. One with placeholders is none yet."""
    used = {folder / "perf" / one for one in (*REFUSED, *NAMELESS)}
    for file in SCENARIOS.glob("*.yaml"):
        for scenario in load_file(folder / file.name):
            places = (one.place.split(":")[0] for one in scenario.objects.values())
            used |= {Path(one) for one in places}
    templates = [
        one for one in (folder / "perf").rglob("*.yaml") if "templates" in one.parts
    ]
    manifests = [
        one
        for one in (folder / "e2e").rglob("*.yaml")
        if OF_SCHEDULING.search(one.read_text("utf-8"))
    ]

    left = [
        one
        for one in (*templates, *manifests)
        if one not in used and "{{" not in one.read_text("utf-8")
    ]

    assert len(templates) > 100
    assert left == []


def template_of(name: str) -> Path:
    """Return the path of a template of scheduler_perf."""
    module, inside = FOLDERS["perf"]
    return go_module(module) / inside / name


def what_is_there(context: RunContext) -> set[str]:
    """Return all objects in no namespace, and in those that every cluster has."""
    objects = context.objects
    objects.kinds.look_again()
    kinds = [one for one in objects.kinds.all() if one.preferred]
    return {
        f"{kind.full_name} {body['metadata']['name']}"
        for kind in kinds
        if "list" in kind.verbs and kind.name not in {"Event", "Lease"}
        for body in objects.each(kind.full_name)
        if body["metadata"].get("namespace", "default") in {"default", "kube-system"}
        # That of a run goes seconds later.
        and (body.get("status") or {}).get("phase") != "Terminating"
    }
