"""An upgrade from the version before, while a plan is being carried out."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from helm_environment import ACCOUNT, NAMESPACE, RELEASE, HelmEnvironment

from stowage_testbed.helm import Release
from stowage_testbed.helm.install import CHART
from stowage_testbed.observe.plan import FINISHED_PHASES
from stowage_testbed.wait import wait_until

pytestmark = pytest.mark.e2e

OURS = {"schedulerName": "stowage"}
BEFORE = "0.0.9"
BOUND_S = 60.0 + 20.0 + 8.0
"""How long a plan may take at most: `planTimeoutSeconds`, its step time-out for the
second of two evictions in turn, and what the next process waits for pods that end."""


@pytest.fixture
def chart_before(tmp_path: Path) -> Path:
    """Return the chart as it was before the execution mode and the release's own lease.

    No version has been released yet, so it is made of the present one.
    """
    chart = tmp_path / "before" / "stowage"
    shutil.copytree(CHART, chart)
    described = yaml.safe_load((chart / "Chart.yaml").read_text("utf-8"))
    changed = {**described, "version": BEFORE, "appVersion": BEFORE}
    (chart / "Chart.yaml").write_text(yaml.safe_dump(changed), "utf-8")
    values = chart / "values.yaml"
    text, count = re.subn(r"(?m)^  executionMode: DryRun\n", "", values.read_text())
    assert count == 1
    values.write_text(text, "utf-8")
    role = chart / "templates" / "role.yaml"
    text, count = re.subn(
        r"(?s)\{\{- \$lease := .*?\n---\n\{\{- end \}\}\n", "", role.read_text()
    )
    assert count == 1
    created = "  - apiGroups: [coordination.k8s.io]\n    resources: [leases]\n"
    text = text.replace("rules:\n", f"rules:\n{created}    verbs: [create]\n", 1)
    role.write_text(text, "utf-8")
    return chart


@pytest.fixture
def busy(environment: HelmEnvironment, chart_before: Path) -> Iterator[str]:
    """Return the name of a plan of the former version that is being carried out.

    Two pods have to go, one after the other, and each takes five seconds to end.
    """
    environment.install("--timeout", "80s", chart=chart_before)
    ends = {"stowage.dev/ends-in": "5s"}
    environment.deploy("shop", 4, 1200, annotations=ends, **OURS)
    placed = environment.until_placed("shop", 4)
    assert sorted(Counter(placed.values()).values()) == [2, 2]
    environment.deploy("big", 1, 4900, **OURS)
    plan = environment.newest_plan("Executing")
    assert len(plan["status"]["moves"]) == 2
    wait_until(
        "the first eviction",
        lambda: evictions(environment, "shop"),
        lambda evicted: len(evicted) == 1,
        timeout_s=20,
    )
    yield str(plan["metadata"]["name"])
    environment.remove("big", "shop")
    environment.helm("uninstall", RELEASE, "--wait")


def evictions(environment: HelmEnvironment, name: str) -> list[str]:
    """Return the pods of a ReplicaSet that the release has evicted, in order."""
    return [
        named
        for verb, resource, named in environment.writes_of(ACCOUNT)
        if (verb, resource) == ("create", "pods/eviction")
        and named.startswith(f"default/{name}-")
    ]


def test_an_upgrade_resumes_the_plan_that_is_being_carried_out(
    environment: HelmEnvironment, busy: str
) -> None:
    """Scheduler and optimiser are restarted in the middle of a plan.

    Each pod is evicted once, all have a node in the end, and no room stays reserved.
    """
    release = Release(environment.cluster, RELEASE, NAMESPACE)
    former = release.pods()[0].metadata.uid

    environment.helm(
        *("upgrade", RELEASE, str(CHART), "--reuse-values", "--wait"),
        *("--set", "priorityOptimizer.historyLimit=19"),
    )

    assert release.pods()[0].metadata.uid != former
    assert environment.helm("list", "--output", "yaml").count("stowage-0.1.0") == 1
    done = wait_until(
        "the plan to end",
        lambda: environment.plans.plan(busy),
        lambda plan: plan["status"]["phase"] in FINISHED_PHASES,
        timeout_s=BOUND_S,
    )
    assert done["status"]["phase"] == "Completed", done["status"]
    said = release.logs()["scheduler"].text()
    assert "Resuming the plan of a former process" in said
    environment.until_placed("shop", 4)
    environment.until_placed("big", 1)
    assert max(Counter(evictions(environment, "shop")).values()) == 1
    assert len(evictions(environment, "shop")) == 2
    assert environment.kubectl("get", "reservations.stowage.dev", "-o", "name") == ""
    phases = {one["status"]["phase"] for one in environment.plans.plans()}
    assert phases <= FINISHED_PHASES
