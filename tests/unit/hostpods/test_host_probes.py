"""Probes against real servers and real commands."""

from __future__ import annotations

import asyncio
import http.client
import http.server
import os
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from host_builders import JumpingClock, a_container

from stowage_testbed.hostpods.cancelling import cancel_and_wait
from stowage_testbed.hostpods.probes import (
    HttpTarget,
    Outcome,
    Probed,
    Prober,
    Thresholds,
)


def a_probed(folder: Path, **container: Any) -> Probed:
    path = {"PATH": os.environ["PATH"]}
    return Probed(a_container("true", **container), path, folder)


def probe(action: dict[str, Any], folder: Path, **container: Any) -> Outcome:
    asking = a_probed(folder, **container).ask({**action, "timeoutSeconds": 2})
    return asyncio.run(asking)


class Answer(http.server.BaseHTTPRequestHandler):
    """Answers with the status that the path names."""

    def do_GET(self) -> None:
        self.send_response(int(self.path.strip("/")))
        self.end_headers()
        self.wfile.write(b"the body")

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
    with a_server() as port:
        get = {"path": f"/{status}", "port": port}
        outcome = probe({"httpGet": get}, tmp_path)

    assert outcome.ok is ok
    assert outcome.message.endswith(f"{status} the body")


def test_https_does_not_ask_who_answers() -> None:
    """The scheduler serves health with a certificate of its own making."""
    connection = HttpTarget("https", "127.0.0.1", 1, "/").connect(1)

    assert isinstance(connection, http.client.HTTPSConnection)
    context: ssl.SSLContext = vars(connection)["_context"]
    assert context.verify_mode == ssl.CERT_NONE
    assert not context.check_hostname


def test_a_port_can_be_given_by_its_name(tmp_path: Path) -> None:
    """The chart names its ports once."""
    with a_server() as port:
        ports = [{"name": "web", "containerPort": port}]
        get = {"path": "/200", "port": "web"}
        assert probe({"httpGet": get}, tmp_path, ports=ports).ok


def test_a_port_that_nobody_has_is_a_failure_not_a_crash(tmp_path: Path) -> None:
    """The usual case while a process starts."""
    with a_server() as port:
        pass

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


def test_an_unknown_port_name_is_a_failure_that_names_it(tmp_path: Path) -> None:
    """Probing port 0 instead would fail for ever without a reason."""
    outcome = probe({"httpGet": {"port": "nope"}}, tmp_path)

    assert not outcome.ok
    assert "no port named 'nope'" in outcome.message


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
    bad: list[Outcome] = []

    probed = a_probed(tmp_path)
    prober = Prober("startup", {**action, "failureThreshold": 2}, probed, clock)
    asyncio.run(prober.until_success(bad.append))

    assert len(count.read_text().splitlines()) == 25
    assert len(bad) == 1  # after the second of two whole periods
    assert clock.now() == pytest.approx(2.2, abs=0.2)


def test_a_probe_waits_its_delay_and_its_period(tmp_path: Path) -> None:
    """The API's defaults: every 10 s, three failures."""
    clock = JumpingClock()
    action = {"exec": {"command": ["false"]}, "initialDelaySeconds": 5}
    heard: list[tuple[float, bool]] = []

    async def until_heard() -> None:
        asking = asyncio.create_task(
            Prober("liveness", action, a_probed(tmp_path), clock).run(
                lambda ok, _: heard.append((clock.now(), ok))
            )
        )
        while not heard:
            await asyncio.sleep(0)
        await cancel_and_wait(asking)

    asyncio.run(until_heard())

    assert heard[0] == (25.0, False)
