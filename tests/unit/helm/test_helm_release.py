"""A release: when it serves, what its failure says, and what keeps it from going."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace as Fake
from typing import TYPE_CHECKING, Any, cast

import pytest

from stowage_testbed.base.wait import WaitTimeoutError
from stowage_testbed.helm import install
from stowage_testbed.helm.install import uninstall_release
from stowage_testbed.helm.serving import RESTARTS, CrashLoop, profile_issue, said_last, serves

if TYPE_CHECKING:
    from stowage_testbed.helm.release import Release


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, True),
        ({"observedGeneration": 1}, False),
        ({"updatedReplicas": 0}, False),
        ({"availableReplicas": 0}, False),
        ({"replicas": 2}, False),
    ],
)
def test_a_release_serves_once_its_new_pod_is_available_alone(status: dict[str, int], *, expected: bool) -> None:
    """The pod before would place those of a scenario that chose another profile."""
    whole = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), 1)
    shown = {"observedGeneration": 2} | whole | status
    deployment = {
        "metadata": {"generation": 2},
        "spec": {"replicas": 1},
        "status": {name: count for name, count in shown.items() if count},
    }

    assert serves(deployment) == expected
    # The server makes a Deployment without any status.
    assert not serves({**deployment, "status": {}})


@pytest.mark.parametrize(
    ("looks", "found"),
    [
        ([("new", n) for n in range(RESTARTS + 1)], [False] * RESTARTS + [True]),
        # Faults end the old pod's containers often; it goes while the new one comes.
        ([("old", 20), ("old", 20), ("new", 0)], [False] * 3),
    ],
    ids=["crash loop", "restarted before"],
)
def test_a_container_that_ends_again_and_again_is_found(looks: list[tuple[str, int]], found: list[bool]) -> None:
    """Nobody should wait for the whole time limit to learn that it is in vain."""

    def pod(uid: str, restarts: int) -> Any:
        one = Fake(name="scheduler", ready=False, restart_count=restarts)
        return Fake(metadata=Fake(uid=uid), status=Fake(container_statuses=[one]))

    newest = iter(looks)
    release = Fake(pods=lambda: [pod(*next(newest))])
    loop = CrashLoop(cast("Release", release))

    assert [loop.found() for _ in looks] == found


PROFILE = """\
# parallelsm: in a comment is no place
parallelsm: 1
profiles:
  - schedulerName: default-scheduler
    plugins:
      multiPoint:
        enabled:
          - name: NoSuchPlugin
"""


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ('strict decoding error: unknown field "parallelsm"', 2),
        ('unknown field "profiles[0].plugins"', 5),
        ('initializing profiles: plugin "NoSuchPlugin" does not exist', 8),
        ('cannot listen on "127.0.0.1:1"', None),
    ],
)
def test_what_the_last_error_of_the_log_quotes_is_found_in_the_profile(
    tmp_path: Path, said: str, line: int | None
) -> None:
    """A line number saves its reader the search; a false place is worse than none."""
    log = ['E1121 0 1 a.go:1] "earlier" err="mostly a warning in disguise"', "I1121 bye"]
    quoted = said.replace('"', r"\"")
    log.insert(1, f'E1121 1 1 run.go:72] "command failed" err="{quoted}"')
    assert (said_last(log), said_last(log[2:])) == (said, "")
    profile = tmp_path / "mine.yaml"
    profile.write_text(PROFILE, "utf-8")

    issue = f"{profile}:{line}: {said}; fix the profile" if line else ""
    assert profile_issue(profile, said) == issue


@pytest.mark.parametrize(
    ("told", "said"),
    [(None, "not told to end"), (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "told to end at 03:04:05")],
)
def test_a_pod_that_stays_is_shown_with_who_keeps_it_and_what_runs(
    monkeypatch: pytest.MonkeyPatch, told: datetime | None, said: str
) -> None:
    """Whether nobody asked it to end or it does not: causes that have two cures."""
    monkeypatch.setattr(install, "_uninstall", lambda release, timeout_s: None)
    metadata = Fake(
        name="scheduler-x",
        deletion_timestamp=told,
        owner_references=[Fake(kind="ReplicaSet", name="scheduler")],
        finalizers=None,
    )
    runs = Fake(name="optimizer", state=Fake(running=object()))
    status = Fake(phase="Running", container_statuses=[runs])
    pod = Fake(metadata=metadata, status=status)
    stuck = Fake(name="stuck", pods=lambda: [pod])

    with pytest.raises(WaitTimeoutError) as caught:
        uninstall_release(cast("Release", stuck), timeout_s=0.0)

    assert list(caught.value.last_state) == [
        f"scheduler-x: Running, {said}, of ReplicaSet scheduler, running: optimizer"
    ]
