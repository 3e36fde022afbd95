"""Probes against real servers and real commands."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import http.server
import os
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from host_builders import JumpingClock, a_container

from stowage_testbed.hostpods.errors import FeatureNotSupportedError
from stowage_testbed.hostpods.probes.action import ActionContext, ask
from stowage_testbed.hostpods.probes.httpget import HttpTarget, unverified_context
from stowage_testbed.hostpods.probes.outcome import Outcome
from stowage_testbed.hostpods.probes.prober import Prober
from stowage_testbed.hostpods.probes.thresholds import Thresholds


def probe(action: dict[str, Any], tmp_path: Path, **container: Any) -> Outcome:
    context = ActionContext(
        a_container("true", **container), {"PATH": os.environ["PATH"]}, tmp_path
    )
    return asyncio.run(ask(action, context, 2))


class Answer(http.server.BaseHTTPRequestHandler):
    """Answers with the status that the path names."""

    def do_GET(self) -> None:
        self.send_response(int(self.path.strip("/")))
        self.end_headers()
        self.wfile.write(b"the body, header: " + self.headers["X-Ask"].encode())

    def log_message(self, *_: object) -> None:
        """Keep the test's output quiet."""


@contextmanager
def a_server() -> Iterator[int]:
    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("status", "ok"), [(200, True), (399, True), (400, False)])
def test_http_counts_from_200_to_399(tmp_path: Path, status: int, ok: bool) -> None:
    """And the message shows what the server said."""
    headers = [{"name": "X-Ask", "value": "please"}]
    with a_server() as port:
        get = {"path": f"/{status}", "port": port, "httpHeaders": headers}
        outcome = probe({"httpGet": get}, tmp_path)

    assert outcome.ok is ok
    assert outcome.message.endswith(f"{status} the body, header: please")


def test_https_does_not_ask_who_answers() -> None:
    """The scheduler serves health with a certificate of its own making."""
    connection = HttpTarget("https", "127.0.0.1", 1, "/", {}).connect(1)

    assert isinstance(connection, http.client.HTTPSConnection)
    assert unverified_context().verify_mode == ssl.CERT_NONE
    assert not unverified_context().check_hostname


def test_a_port_can_be_given_by_its_name(tmp_path: Path) -> None:
    """The chart names its ports once."""
    with a_server() as port:
        ports = [{"name": "web", "containerPort": port}]
        assert probe({"tcpSocket": {"port": "web"}}, tmp_path, ports=ports).ok


def test_a_port_that_nobody_has_is_a_failure_not_a_crash(tmp_path: Path) -> None:
    """The usual case while a process starts."""
    with a_server() as port:
        assert probe({"tcpSocket": {"port": port}}, tmp_path).ok

    assert not probe({"tcpSocket": {"port": port}}, tmp_path).ok
    assert "refused" in probe({"httpGet": {"port": port}}, tmp_path).message


@pytest.mark.parametrize(("code", "ok"), [(0, True), (1, False)])
def test_exec_counts_the_exit_code(tmp_path: Path, code: int, ok: bool) -> None:
    """The output is the reason that the status shows."""
    script = f"echo because; exit {code}"
    outcome = probe({"exec": {"command": ["sh", "-c", script]}}, tmp_path)

    assert (outcome.ok, outcome.message) == (ok, f"exit code {code}: because")


def test_exec_of_a_missing_command_fails(tmp_path: Path) -> None:
    """A misspelt probe must not take the daemon down."""
    outcome = probe({"exec": {"command": ["/no/such"]}}, tmp_path)

    assert not outcome.ok
    assert "/no/such" in outcome.message


def test_grpc_asks_the_health_service(tmp_path: Path) -> None:
    """By service name, as the API has it."""
    service = health.HealthServicer()
    service.set("good", health_pb2.HealthCheckResponse.SERVING)
    service.set("bad", health_pb2.HealthCheckResponse.NOT_SERVING)
    server = grpc.server(ThreadPoolExecutor(2))
    health_pb2_grpc.add_HealthServicer_to_server(service, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()

    good = probe({"grpc": {"port": port, "service": "good"}}, tmp_path)
    bad = probe({"grpc": {"port": port, "service": "bad"}}, tmp_path)
    unknown = probe({"grpc": {"port": port, "service": "none"}}, tmp_path)
    server.stop(None).wait()

    assert good.ok
    assert not bad.ok
    assert "NOT_SERVING" in bad.message
    assert not unknown.ok


def test_an_unknown_port_name_is_refused(tmp_path: Path) -> None:
    """Probing port 0 instead would fail for ever without a reason."""
    with pytest.raises(FeatureNotSupportedError, match="'nope'"):
        probe({"httpGet": {"port": "nope"}}, tmp_path)


def test_verdicts_need_as_many_answers_in_a_row_as_asked() -> None:
    """One slow answer must not take a container out of service."""
    thresholds = Thresholds(success=2, failure=3)
    answers = [True, True, False, False, True, False, False, False, False, True, True]

    verdicts = [thresholds.record(ok=answer) for answer in answers]

    n = None
    assert verdicts == [n, True, n, n, n, n, n, False, False, n, True]


def test_a_startup_probe_counts_periods_but_asks_more_often(tmp_path: Path) -> None:
    """A start should not cost a whole second because a period does."""
    clock = JumpingClock()
    count = tmp_path / "count"
    script = f"echo >> {count}; [ $(wc -l < {count}) -ge 25 ]"
    action = {"exec": {"command": ["sh", "-c", script]}, "periodSeconds": 1}
    context = ActionContext(a_container("true"), {"PATH": os.environ["PATH"]}, tmp_path)
    bad: list[Outcome] = []

    prober = Prober("startup", {**action, "failureThreshold": 2}, context, clock)
    asyncio.run(prober.until_success(bad.append))

    assert len(count.read_text().splitlines()) == 25
    assert len(bad) == 1  # after the second of two whole periods
    assert clock.now() == pytest.approx(2.2, abs=0.2)


def test_a_probe_waits_its_delay_and_its_period(tmp_path: Path) -> None:
    """The API's defaults: every 10 s, three failures."""
    clock = JumpingClock()
    action = {"exec": {"command": ["false"]}, "initialDelaySeconds": 5}
    context = ActionContext(a_container("true"), {"PATH": os.environ["PATH"]}, tmp_path)
    heard: list[tuple[float, bool]] = []

    async def until_heard() -> None:
        asking = asyncio.create_task(
            Prober("liveness", action, context, clock).run(
                lambda ok, _: heard.append((clock.now(), ok))
            )
        )
        while not heard:
            await asyncio.sleep(0)
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking

    asyncio.run(until_heard())

    assert heard[0] == (25.0, False)
