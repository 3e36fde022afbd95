"""Odd pods, one way of being odd each.

None of them takes room that anybody else needs: it asks for nothing, or for more than
there is. One that asks to be alone somewhere must not get a place, where it would have
a right to that.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

ZERO = "0"
HUGE = ("9223372036854775807", "7Ei", "1e18")
"""At the end of what 64 bits hold: no node has as much."""
HUGE_CPU = "9223372036854775"
"""The same for what is counted in thousandths."""
BEYOND = ("9223372036854775807k", "1e30", "9223372036854775808000")
"""More than 64 bits hold. The stock scheduler reads the last of their bits, as nothing
or less, and would bind a pod that asks for it: such a pod must not get so far."""
TINY_CPU = (ZERO, "1n", "1u", "1m")
LONGEST_WORD = 63
TOPOLOGIES = (
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "example.com/nowhere",
)


def huge(rng: random.Random, resource: str = "memory") -> str:
    """Return an amount that no node has."""
    return HUGE_CPU if resource == "cpu" else rng.choice(HUGE)


def resources(amount: str, *names: str) -> dict[str, Any]:
    """Return requests and equal limits, as extended resources need them."""
    amounts = dict.fromkeys(names, amount)
    return {"requests": amounts, "limits": dict(amounts)}


def nothing() -> dict[str, Any]:
    """Return requests for nothing, beside limits that would else stand for them."""
    return {
        "requests": {"cpu": ZERO, "memory": ZERO},
        "limits": {"memory": BEYOND[0]},
    }


def labels(rng: random.Random, most: int) -> dict[str, str]:
    """Return up to so many labels, some of them as long as they may be."""
    many = rng.randint(1, most)
    return {
        f"example.com/{number}-{'k' * rng.choice((1, 40))}": word(rng)
        for number in range(many)
    }


def word(rng: random.Random) -> str:
    """Return a label's value."""
    return rng.choice(("", "1", "0", "true", "W" * LONGEST_WORD, "a.b_c-d"))


def selector(rng: random.Random) -> dict[str, Any]:
    """Return a label selector: of all, of none, or in thousands of words."""
    many = [f"v{number}" for number in range(rng.randint(1, 2000))]
    return rng.choice(
        (
            {},
            {"matchExpressions": [_demand("example.com/odd", "In", many)]},
            {"matchExpressions": [_demand("example.com/odd", "NotIn", many)]},
            {
                "matchExpressions": [
                    _demand("example.com/odd", "Exists"),
                    _demand("example.com/odd", "DoesNotExist"),
                ]
            },
            {"matchLabels": labels(rng, 100)},
        )
    )


def node_term(rng: random.Random) -> dict[str, Any]:
    """Return a term of a node selector that holds for hardly any node."""
    many = [f"v{number}" for number in range(rng.randint(1, 2000))]
    number = rng.choice(("9223372036854775807", "0"))
    return rng.choice(
        (
            {"matchExpressions": [_demand("example.com/odd", "In", many)]},
            {"matchExpressions": [_demand("example.com/odd", "Gt", [number])]},
            {"matchExpressions": [_demand("example.com/odd", "Lt", [number])]},
            {"matchFields": [_demand("metadata.name", "In", ["nowhere"])]},
            {"matchFields": [_demand("metadata.name", "NotIn", ["nowhere"])]},
        )
    )


def _demand(key: str, operator: str, values: list[str] | None = None) -> dict[str, Any]:
    demand: dict[str, Any] = {"key": key, "operator": operator}
    return demand if values is None else {**demand, "values": values}


EXTENDED = "example.com/odd"
LONGEST_OBJECT_NAME = 253
HIGHEST, LOWEST, NEVER = "odd-highest", "odd-lowest", "odd-never"
RUNTIME = "odd-runtime"
MOST_LABELS = 3000
NOWHERE = {"example.com/odd": "nowhere"}
MAX_INT32 = 2**31 - 1
MAX_INT64 = 2**63 - 1
TAKEN = "stowage.dev/reservation-allocated"


@dataclass(slots=True)
class OddPod:
    """A pod, and what becomes of it once it is there.

    Attributes
    ----------
    manifest
        As it is created.
    status
        Written over its own.
    ephemeral
        Containers that are added to it.
    deleted
        Whether it is deleted at once, which a finaliser keeps from ending.
    """

    manifest: dict[str, Any]
    status: dict[str, Any] = field(default_factory=dict)
    ephemeral: list[dict[str, Any]] = field(default_factory=list)
    deleted: bool = False

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata, to be made odd."""
        metadata: dict[str, Any] = self.manifest["metadata"]
        return metadata

    @property
    def spec(self) -> dict[str, Any]:
        """The spec, to be made odd."""
        spec: dict[str, Any] = self.manifest["spec"]
        return spec

    def ask(self, wanted: dict[str, Any]) -> None:
        """Have its only container ask for these resources."""
        self.spec["containers"][0]["resources"] = wanted


Oddity = Callable[[random.Random, OddPod], None]


def odd_pod(name: str, namespace: str, oddity: Oddity, rng: random.Random) -> OddPod:
    """Return a pod that is odd in one way."""
    pod = OddPod(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "terminationGracePeriodSeconds": 0,
                "containers": [_container("main", nothing())],
            },
        }
    )
    oddity(rng, pod)
    return pod


def amounts(rng: random.Random, pod: OddPod) -> None:
    """Ask for as much as 64 bits can count."""
    name = rng.choice(("cpu", "memory", "ephemeral-storage", EXTENDED))
    # There is no half of what is counted.
    amount = str(MAX_INT64) if name == EXTENDED else huge(rng, name)
    pod.ask(resources(amount, name))


def beyond(rng: random.Random, pod: OddPod) -> None:
    """Ask for more than 64 bits can count, on a node that there is not."""
    name = rng.choice(("cpu", "memory", "ephemeral-storage"))
    pod.ask(resources(rng.choice(BEYOND), name))
    pod.spec["nodeSelector"] = NOWHERE


def tiny_amounts(rng: random.Random, pod: OddPod) -> None:
    """Ask for less than can be counted."""
    pod.ask({"requests": {"cpu": rng.choice(TINY_CPU), "memory": ZERO}})


def many_containers(rng: random.Random, pod: OddPod) -> None:
    """Have twenty init containers whose requests are too large to be added."""
    pod.spec["initContainers"] = [
        _container(f"init-{number}", resources(huge(rng), "memory"))
        | rng.choice(({}, {"restartPolicy": "Always"}))
        for number in range(20)
    ]
    pod.spec["nodeSelector"] = NOWHERE


def whole_pod(rng: random.Random, pod: OddPod) -> None:
    """Ask as a pod, not as its containers."""
    name = rng.choice(("cpu", "memory"))
    pod.spec["resources"] = resources(huge(rng, name), name)
    pod.ask({})


def overhead(_rng: random.Random, pod: OddPod) -> None:
    """Run by a runtime that needs more than any node has."""
    pod.spec["runtimeClassName"] = RUNTIME


def node_affinity(rng: random.Random, pod: OddPod) -> None:
    """Want a node that there cannot be, in thousands of words."""
    pod.ask(resources(huge(rng), "memory"))
    terms = [node_term(rng) for _ in range(rng.randint(1, 3))]
    preferred = [{"weight": 100, "preference": node_term(rng)}]
    pod.spec["affinity"] = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": terms
            },
            "preferredDuringSchedulingIgnoredDuringExecution": preferred,
        }
    }


def pod_affinity(rng: random.Random, pod: OddPod) -> None:
    """Require to be with every pod, or with none, in any topology."""
    pod.ask(resources(huge(rng), "memory"))
    term = {
        "labelSelector": selector(rng),
        "namespaceSelector": selector(rng),
        "topologyKey": rng.choice(TOPOLOGIES),
    }
    kind = rng.choice(("podAffinity", "podAntiAffinity"))
    pod.spec["affinity"] = {
        kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    }


def spread(rng: random.Random, pod: OddPod) -> None:
    """Be spread over domains that there cannot be so many of."""
    constraint: dict[str, Any] = {
        "maxSkew": rng.choice((1, MAX_INT32)),
        "topologyKey": rng.choice(TOPOLOGIES),
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector(rng),
        "minDomains": MAX_INT32,
    }
    pod.spec["topologySpreadConstraints"] = [constraint]


def tolerations(rng: random.Random, pod: OddPod) -> None:
    """Tolerate hundreds of taints, for ever and for less than no time."""
    pod.spec["tolerations"] = [
        {
            "key": f"example.com/{number}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": rng.choice((-MAX_INT64 - 1, -1, 0, MAX_INT64)),
        }
        for number in range(200)
    ]


def host(rng: random.Random, pod: OddPod) -> None:
    """Live in the namespaces of the host, and take its ports."""
    port = rng.choice((1, 80, 65535))
    ports = [
        {"containerPort": port, "hostPort": port, "hostIP": address, "protocol": kind}
        for address in ("0.0.0.0", "127.0.0.1", "::1")  # noqa: S104 - nobody listens
        for kind in ("TCP", "UDP", "SCTP")
    ]
    pod.spec["containers"][0]["ports"] = ports
    pod.spec.update(hostNetwork=True, hostPID=True, hostIPC=True)


def priority(rng: random.Random, pod: OddPod) -> None:
    """Have an extreme priority class, and fit nowhere."""
    pod.spec["priorityClassName"] = rng.choice((HIGHEST, LOWEST, NEVER))
    pod.ask(resources(huge(rng), "memory"))


def many_labels(rng: random.Random, pod: OddPod) -> None:
    """Have thousands of labels."""
    pod.metadata["labels"] = labels(rng, MOST_LABELS)


def long_name(_rng: random.Random, pod: OddPod) -> None:
    """Have a name as long as it may be."""
    pod.metadata["name"] = pod.metadata["name"].ljust(LONGEST_OBJECT_NAME, "n")


def odd_annotations(rng: random.Random, pod: OddPod) -> None:
    """Have annotations with a meaning, and values without one."""
    names = (
        TAKEN,
        "stowage.dev/do-not-move",
        "karpenter.sh/do-not-disrupt",
        "cluster-autoscaler.kubernetes.io/safe-to-evict",
        "controller.kubernetes.io/pod-deletion-cost",
    )
    values = ("2147483647", "-2147483648")
    pod.metadata["annotations"] = {name: rng.choice(values) for name in names}
    pod.metadata["annotations"][TAKEN] = rng.choice(("", "{", "[]", '{"uid":{}}'))


def owners(rng: random.Random, pod: OddPod) -> None:
    """Be owned by a hundred things that there are not, one of them in charge."""
    kinds = ("DaemonSet", "Job", "StatefulSet", "Weird")
    pod.metadata["ownerReferences"] = [
        {
            "apiVersion": "example.com/v1",
            "kind": rng.choice(kinds),
            "name": f"owner-{number}",
            "uid": f"00000000-0000-0000-0000-{number:012}",
            "controller": number == 0,
        }
        for number in range(100)
    ]


def leaving(rng: random.Random, pod: OddPod) -> None:
    """Be terminating for ever, by a finaliser that nothing removes."""
    pod.metadata["finalizers"] = ["example.com/never"]
    pod.spec["terminationGracePeriodSeconds"] = rng.choice((0, 1, MAX_INT64))
    pod.deleted = True


def gated(_rng: random.Random, pod: OddPod) -> None:
    """Wait at a scheduling gate that is never removed."""
    pod.spec["schedulingGates"] = [{"name": "example.com/gate"}]


def volumes(rng: random.Random, pod: OddPod) -> None:
    """Have volumes that there are not, or that are the node's own."""
    sources: tuple[dict[str, Any], ...] = (
        {"persistentVolumeClaim": {"claimName": "missing"}},
        {"hostPath": {"path": "/"}},
        {"emptyDir": {"medium": "Memory", "sizeLimit": huge(rng)}},
        {"csi": {"driver": "example.com"}},
        {"nfs": {"server": "example.com", "path": "/"}},
    )
    pod.spec["volumes"] = [{"name": "odd", **rng.choice(sources)}]


def claims(_rng: random.Random, pod: OddPod) -> None:
    """Claim devices by a claim that there is not."""
    pod.spec["resourceClaims"] = [{"name": "odd", "resourceClaimName": "missing"}]


def other_scheduler(_rng: random.Random, pod: OddPod) -> None:
    """Wait for a scheduler that there is not."""
    pod.spec["schedulerName"] = "s" * 63


def elsewhere(_rng: random.Random, pod: OddPod) -> None:
    """Be on a node that there is not."""
    pod.spec["nodeName"] = "nowhere"


def phases(rng: random.Random, pod: OddPod) -> None:
    """Be in a phase that means nothing any more, or never did."""
    pod.ask(resources(huge(rng), "memory"))
    pod.status = {
        "phase": rng.choice(("Unknown", "Failed", "Succeeded")),
        "nominatedNodeName": rng.choice(("nowhere", "")),
        "reason": "Odd",
    }


def ephemeral(_rng: random.Random, pod: OddPod) -> None:
    """Get a container that was not there in the beginning."""
    pod.ephemeral = [{"name": "debug", "image": "pause"}]


ODDITIES: tuple[Oddity, ...] = (
    amounts, beyond, claims, tiny_amounts, elsewhere, ephemeral, gated, host, leaving,
    long_name, many_containers, many_labels, node_affinity, odd_annotations,
    other_scheduler, overhead, owners, phases, pod_affinity, priority, spread,
    tolerations, volumes, whole_pod,
)  # fmt: skip


def _container(name: str, wanted: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "image": "pause", "resources": wanted}
