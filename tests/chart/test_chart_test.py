"""What `helm test` runs: a pod that the release places, and its questions."""

import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from chart_render import Manifest, of_kind, pod_spec, render

pytestmark = pytest.mark.chart

METRICS = "scheduler.metrics.enabled=true"
READ = ("scheduler_pending_pods", "stowage_x")
SERVED = "# TYPE scheduler_pending_pods gauge\n# TYPE stowage_x gauge\n"


def container(*settings: str) -> Manifest:
    (pod,) = of_kind(render(*settings, hooks=True), "Pod")
    (only,) = pod["spec"]["containers"]
    described: Manifest = only
    return described


def test_the_release_places_the_pod_of_its_test() -> None:
    """That pods are placed is what a scheduler is there for."""
    (pod,) = of_kind(render("schedulerName=mine", hooks=True), "Pod")
    (deployment,) = of_kind(render(), "Deployment")
    selected = deployment["spec"]["selector"]["matchLabels"]

    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    assert pod["spec"]["schedulerName"] == "mine"
    assert not selected.items() <= pod["metadata"]["labels"].items()


@pytest.mark.parametrize("setting", ["schedulerName=a", METRICS])
def test_the_test_uses_the_releases_images_and_meets_the_restricted_standard(setting: str) -> None:
    """A cluster that pulls nothing else must be able to run it."""
    images = {one["image"] for one in pod_spec(render(setting))["containers"]}

    assert container(setting)["image"] in images
    assert container(setting)["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_the_test_may_read_metrics_only_where_they_are_served() -> None:
    """A right outlives the test that needed it."""
    kinds = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding")
    (account, role, binding) = of_kind(render(METRICS, hooks=True), *kinds)

    assert not of_kind(render(hooks=True), *kinds)
    assert role["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    assert binding["subjects"][0]["name"] == account["metadata"]["name"]
    for one in (account, role, binding):
        policy = one["metadata"]["annotations"]["helm.sh/hook-delete-policy"]
        assert "hook-succeeded" in policy


class Scheduler(BaseHTTPRequestHandler):
    """Answers as the secure port does; ``open`` leaves the metrics to everybody."""

    ready, open, served = 200, False, SERVED

    def do_GET(self) -> None:
        known = self.headers.get("Authorization") == "Bearer token"
        code = 200 if known or self.open else 403
        if self.path == "/readyz":
            code = self.ready
        self.send_response(code)
        self.end_headers()
        self.wfile.write(self.served.encode() if code == 200 else b"forbidden")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a key and a certificate of its own making, as the scheduler's."""
    file = tmp_path_factory.mktemp("certificate") / "both.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=scheduler"
    made = ["-keyout", str(file), "-out", f"{file}.crt"]
    subprocess.run([*command.split(), *made], capture_output=True, check=True)
    file.write_text(file.read_text() + Path(f"{file}.crt").read_text())
    return file


@contextmanager
def serving(certificate: Path, **answers: object) -> Iterator[int]:
    """Serve these answers over TLS for the block, and yield the port."""
    handler = type("Handler", (Scheduler,), answers)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def ask(port: int, folder: Path) -> tuple[int, str]:
    """Run the script as the pod does; return its end and what it says."""
    (folder / "token").write_text("token\n")
    script = container(METRICS)["args"][0].replace("DEADLINE_S = 60.0", "DEADLINE_S = 0")
    told = (f"https://127.0.0.1:{port}", f"{folder}/token", *READ)
    done = subprocess.run([sys.executable, "-c", script, *told], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("answers", "code", "said"),
    [
        # Ready, closed to strangers, and open to who has the right.
        ({}, 0, ""),
        ({"ready": 500}, 1, "/readyz: 500"),
        ({"open": True}, 1, "it must refuse strangers"),
        ({"served": ""}, 1, "/metrics lacks scheduler_pending_pods"),
    ],
)
def test_what_is_wrong_is_said(
    certificate: Path, tmp_path: Path, answers: dict[str, object], code: int, said: str
) -> None:
    """`helm test` shows only that the pod failed; its log must say why."""
    with serving(certificate, **answers) as port:
        ended, stderr = ask(port, tmp_path)

    assert ended == code
    assert said in stderr if said else stderr == ""


def test_a_scheduler_that_is_not_there_fails_the_test(tmp_path: Path) -> None:
    """Port 9 is nobody's."""
    code, stderr = ask(9, tmp_path)

    assert code == 1
    assert "/readyz: 0" in stderr
