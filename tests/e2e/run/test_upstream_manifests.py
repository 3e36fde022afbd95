"""Manifests of others, as they are: of Kubernetes' own tests, of Kueue, of Volcano."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from go_module import go_module
from step_environment import StepEnvironment

from stowage_testbed.base.wait import wait_until
from stowage_testbed.run.context import RunContext
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

TABLE = yaml.safe_load(Path(__file__).with_name("upstream_refusals.yaml").read_text("utf-8"))
REFUSED, NAMELESS = TABLE["refused"], TABLE["nameless"]
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
    wait_until("all that the scenarios made to be gone", lambda: what_is_there(context) - before, lambda left: not left)


@pytest.mark.parametrize("name", sorted(one.stem for one in SCENARIOS.glob("*.yaml")))
def test_they_mean_here_what_they_mean_to_their_authors(environment: StepEnvironment, folder: Path, name: str) -> None:
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
    module, inside = FOLDERS["perf"]
    path = go_module(module) / inside / template

    outcome = environment.play(f"steps: [apply: [web, {path}]]\nexpect: {{end: {{placed: 0}}}}\n")

    assert not any(one.error == "" for one in outcome.steps if one.line)
    assert f"{path}:1: " in outcome.error
    assert words in outcome.error


def test_no_manifest_is_passed_over(folder: Path) -> None:
    """The next version may bring others. One with placeholders is none yet."""
    used = {folder / "perf" / one for one in (*REFUSED, *NAMELESS)}
    for file in SCENARIOS.glob("*.yaml"):
        for scenario in load_file(folder / file.name):
            places = (one.place.split(":")[0] for one in scenario.objects.values())
            used |= {Path(one) for one in places}
    templates = [one for one in (folder / "perf").rglob("*.yaml") if "templates" in one.parts]
    manifests = [one for one in (folder / "e2e").rglob("*.yaml") if OF_SCHEDULING.search(one.read_text("utf-8"))]

    left = [one for one in (*templates, *manifests) if one not in used and "{{" not in one.read_text("utf-8")]

    assert len(templates) > 100
    assert left == []


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
