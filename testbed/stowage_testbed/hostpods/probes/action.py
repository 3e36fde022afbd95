"""Which of the four ways a probe or a lifecycle hook asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.hostpods.errors import FeatureNotSupportedError
from stowage_testbed.hostpods.expansion import expand
from stowage_testbed.hostpods.fields import POD_IP
from stowage_testbed.hostpods.manifest import Manifest
from stowage_testbed.hostpods.probes.exec import probe_exec
from stowage_testbed.hostpods.probes.grpc import probe_grpc
from stowage_testbed.hostpods.probes.httpget import HttpTarget, probe_http
from stowage_testbed.hostpods.probes.outcome import Outcome
from stowage_testbed.hostpods.probes.tcp import probe_tcp
from stowage_testbed.hostpods.process import Command


@dataclass(frozen=True, slots=True)
class ActionContext:
    """What an action sees of the container that it asks."""

    container: Manifest
    env: Mapping[str, str]
    cwd: Path

    def port(self, given: int | str) -> int:
        """Return the port's number, also when it is given by name."""
        if isinstance(given, int) or given.isdigit():
            return int(given)
        for port in self.container.get("ports", ()):
            if port.get("name") == given:
                return int(port["containerPort"])
        raise FeatureNotSupportedError(
            f"container {self.container['name']!r} has no port named {given!r}; name "
            "one under ports, or give the number"
        )


async def ask(action: Manifest, context: ActionContext, timeout_s: float) -> Outcome:
    """Carry out a probe's or a hook's action once.

    Raises
    ------
    FeatureNotSupportedError
        An unknown kind of action, or a port name that the container does not have.
    """
    if "exec" in action:
        argv = [expand(part, context.env) for part in action["exec"]["command"]]
        return await probe_exec(Command(argv, context.env, context.cwd), timeout_s)
    if "httpGet" in action:
        get = action["httpGet"]
        headers = {
            entry["name"]: entry["value"] for entry in get.get("httpHeaders", ())
        }
        target = HttpTarget(
            scheme=get.get("scheme", "HTTP"),
            host=get.get("host", POD_IP),
            port=context.port(get["port"]),
            path=get.get("path", "/"),
            headers=headers,
        )
        return await probe_http(target, timeout_s)
    if "tcpSocket" in action:
        host = action["tcpSocket"].get("host", POD_IP)
        return await probe_tcp(
            host, context.port(action["tcpSocket"]["port"]), timeout_s
        )
    if "grpc" in action:
        grpc = action["grpc"]
        service = grpc.get("service") or ""
        return await probe_grpc(POD_IP, int(grpc["port"]), service, timeout_s)
    raise FeatureNotSupportedError(
        "an action must be one of exec, httpGet, tcpSocket and grpc"
    )
