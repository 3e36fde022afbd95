"""Plans that are asked for over HTTPS, as the paper's are."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from figure_1_cluster import nodes, wait_for
from kubernetes.client import (
    ApiClient,
    AuthorizationV1Api,
    CoreV1Api,
    CustomObjectsApi,
    RbacAuthorizationV1Api,
)
from release_environment import ReleaseEnvironment

from stowage_testbed.helm import Release
from stowage_testbed.wait import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.smoke]

PLANS = ("stowage.dev", "v1alpha1", "packingplans")
ROLE = "plan-creator"
CREATOR = "system:serviceaccount:default:creator"
LOOPBACK = "127.0.0.1"
TIMEOUT_S = 20
TOKEN_S = 600


@dataclass(frozen=True, slots=True)
class Answer:
    """What the trigger said."""

    code: int
    content: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Trigger:
    """The trigger of a release on the loopback interface."""

    port: int

    def ask(self, token: str | None, body: str = "", *, method: str = "POST") -> Answer:
        """Send one request; a body is sent as JSON."""
        headers = {"Content-Type": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        connection = http.client.HTTPSConnection(
            LOOPBACK, self.port, timeout=TIMEOUT_S, context=_any_certificate()
        )
        try:
            connection.request(method, "/packingplans", body, headers)
            response = connection.getresponse()
            return Answer(response.status, json.loads(response.read()))
        finally:
            connection.close()


def trigger_of(pod: Any) -> Trigger:
    """Return the trigger that a release's pod serves."""
    (port,) = [
        port.container_port
        for container in pod.spec.containers
        for port in container.ports or ()
        if port.name == "https"
    ]
    return Trigger(port)


def token_of(client: ApiClient, account: str) -> str:
    """Return a token of a new ServiceAccount of namespace default."""
    core: Any = CoreV1Api(client)
    core.create_namespaced_service_account("default", {"metadata": {"name": account}})
    request = {"spec": {"expirationSeconds": TOKEN_S}}
    answer = core.create_namespaced_service_account_token(account, "default", request)
    return str(answer.status.token)


def _any_certificate() -> ssl.SSLContext:
    """Return a context for the certificate that the scheduler made for itself."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@dataclass(frozen=True, slots=True)
class Callers:
    """The release's trigger, with the tokens of one who may and one who may not."""

    trigger: Trigger
    creator: str
    outsider: str


@pytest.fixture(scope="module")
def release(environment: ReleaseEnvironment) -> Release:
    return Release(environment.cluster, "stowage", "stowage-system")


@pytest.fixture(scope="module")
def callers(environment: ReleaseEnvironment, release: Release) -> Iterator[Callers]:
    """Return two accounts, one of which may create PackingPlans and nothing else."""
    rbac: Any = RbacAuthorizationV1Api(environment.client)
    rule = {"apiGroups": [PLANS[0]], "resources": [PLANS[2]], "verbs": ["create"]}
    rbac.create_cluster_role({"metadata": {"name": ROLE}, "rules": [rule]})
    rbac.create_cluster_role_binding(
        {
            "metadata": {"name": ROLE},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": ROLE,
            },
            "subjects": [
                {"kind": "ServiceAccount", "name": "creator", "namespace": "default"}
            ],
        }
    )
    wait_until(
        "the right to be there",
        lambda: may_create(environment),
        lambda may: may,
        timeout_s=10,
    )
    tokens = [token_of(environment.client, name) for name in ("creator", "outsider")]
    yield Callers(trigger_of(release.pods()[0]), *tokens)
    rbac.delete_cluster_role_binding(ROLE)
    rbac.delete_cluster_role(ROLE)
    for name in ("creator", "outsider"):
        environment.core.delete_namespaced_service_account(name, "default")


def may_create(environment: ReleaseEnvironment) -> bool:
    """Ask as the trigger does, which remembers a refusal for ten seconds."""
    api: Any = AuthorizationV1Api(environment.client)
    attributes = {"group": PLANS[0], "resource": PLANS[2], "verb": "create"}
    answer = api.create_subject_access_review(
        {"spec": {"user": CREATOR, "resourceAttributes": attributes}}
    )
    return bool(answer.status.allowed)


def names(environment: ReleaseEnvironment) -> set[str]:
    found: Any = CustomObjectsApi(environment.client).list_cluster_custom_object(*PLANS)
    return {one["metadata"]["name"] for one in found["items"]}


def test_a_plan_that_a_user_asks_for_is_carried_out(
    figure_1: ReleaseEnvironment, callers: Callers, release: Release
) -> None:
    """The paper's trigger: one request, and the pod that did not fit runs."""
    answer = callers.trigger.ask(callers.creator, '{"mode": "Execute"}')

    assert answer.code == 201, answer
    done = wait_for(figure_1, answer.content["name"], "Completed")
    assert done["metadata"]["uid"] == answer.content["uid"]
    assert done["metadata"]["annotations"]["stowage.dev/requested-by"] == CREATOR
    assert all(nodes(figure_1).values())
    log = release.log_files()["scheduler"].read_text("utf-8")
    assert "forbidden" not in log
    (line,) = [line for line in log.splitlines() if "that a user asked for" in line]
    assert f'user="{CREATOR}"' in line
    assert f'plan="{answer.content["name"]}"' in line
    assert callers.creator not in log


def test_a_request_without_a_body_changes_nothing(
    figure_1: ReleaseEnvironment, callers: Callers
) -> None:
    """Whoever does not say that pods may be moved only gets a proposal."""
    before = nodes(figure_1)

    answer = callers.trigger.ask(callers.creator)

    assert answer.code == 201, answer
    proposed = wait_for(figure_1, answer.content["name"], "Proposed")
    assert proposed["spec"] == {"mode": "DryRun", "trigger": "Manual"}
    assert len(proposed["status"]["moves"]) == 1
    assert nodes(figure_1) == before


@pytest.mark.parametrize(
    ("who", "code", "why"),
    [
        ("nobody", 401, "a bearer token is needed"),
        ("stranger", 401, "a bearer token is needed"),
        ("outsider", 403, 'cannot create resource "packingplans"'),
    ],
)
def test_who_may_not_create_the_object_gets_none(
    environment: ReleaseEnvironment, callers: Callers, who: str, code: int, why: str
) -> None:
    """The trigger is no way round the right that kubectl needs."""
    tokens = {"nobody": None, "stranger": "made-up", "outsider": callers.outsider}
    before = names(environment)

    answer = callers.trigger.ask(tokens[who], '{"mode": "Execute"}')

    assert answer.code == code, answer
    assert why in answer.content["message"]
    assert names(environment) == before


@pytest.mark.parametrize(
    ("body", "code", "why"),
    [
        ('{"abort": true}', 400, 'unknown field "abort"'),
        ('{"mode": "Now"}', 400, 'Unsupported value: "Now"'),
        ('{"timeLimitSeconds": 0}', 400, "timeLimitSeconds"),
        (" " * 5000, 413, "4096 bytes at most"),
    ],
)
def test_what_the_kind_does_not_allow_is_refused(
    environment: ReleaseEnvironment, callers: Callers, body: str, code: int, why: str
) -> None:
    """The fault is named to the caller, since no plan is there to show it."""
    before = names(environment)

    answer = callers.trigger.ask(callers.creator, body)

    assert answer.code == code, answer
    assert why in answer.content["message"]
    assert names(environment) == before


def test_only_asking_is_possible(callers: Callers) -> None:
    """Plans are read and changed where all objects are."""
    answer = callers.trigger.ask(callers.creator, method="GET")

    assert answer.code == 405, answer
    assert "GET is not supported" in answer.content["message"]
