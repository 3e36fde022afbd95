"""Kinds are found by their names, and selectors are read as kubectl reads them."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from stowage_testbed.api.kinds import KindMissingError, Kinds, kinds_of
from stowage_testbed.api.label_selector import both, parse_selector, selects
from stowage_testbed.base.errors import InputError

CASES = yaml.safe_load(Path(__file__).with_name("kinds.yaml").read_text("utf-8"))


class Server:
    """Answers as an API server does that is asked for its kinds, and counts that."""

    def __init__(self) -> None:
        self.groups: dict[str, dict[str, list[str]]] = dict(CASES["groups"])
        self.asked = 0

    def param_serialize(self, method: str, path: str, **_: Any) -> tuple[str]:
        assert method == "GET"
        return (path,)

    def call_api(self, path: str, **_: Any) -> SimpleNamespace:
        self.asked += 1
        groups = CASES["core"] if path == "/api" else self.groups
        body = {"items": [_group(name, versions) for name, versions in groups.items()]}
        data = json.dumps(body).encode()
        return SimpleNamespace(response=SimpleNamespace(status=200, data=data))


def _group(name: str, versions: dict[str, list[str]]) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "versions": [
            {"version": version, "resources": [_resource(one) for one in resources]}
            for version, resources in versions.items()
        ],
    }


def _resource(text: str) -> dict[str, Any]:
    kind, plural, *scope = text.split(":")
    return {
        "responseKind": {"kind": kind},
        "resource": plural,
        "scope": scope[0] if scope else "Namespaced",
        "verbs": ["get", "list"],
    }


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def kinds(server: Server) -> Kinds:
    return Kinds(server)  # type: ignore[arg-type] # a double


@pytest.mark.parametrize(("name", "path"), CASES["found"].items())
def test_a_kind_is_found_by_its_name(kinds: Kinds, name: str, path: str) -> None:
    """The one that Kubernetes or Stowage brings, in the version the server prefers."""
    assert kinds.find(name).path("ns", "a") == path


@pytest.mark.parametrize(("name", "why"), CASES["missing"].items())
def test_a_kind_that_is_not_served_is_answered_with_those_that_are(kinds: Kinds, name: str, why: str) -> None:
    """Most are misspelt, or need a version."""
    with pytest.raises(KindMissingError, match=why):
        kinds.find(name)


def test_a_kind_that_comes_later_is_found(server: Server) -> None:
    """A definition may be applied at any time; only what is missing costs a request.

    All of a client's callers share what is known.
    """
    for name in ("Pod", "Node"):
        kinds = kinds_of(server)  # type: ignore[arg-type] # a double
        kinds.find(name)
    before = server.asked
    assert before == 2
    server.groups["c.example.com"] = {"v1": ["Late:lates"]}

    assert kinds.find_known({"kind": "Late"}) is None
    assert kinds.find("Late").key == "Late.c.example.com"
    kinds.find("Pod")
    assert server.asked == before + 2


SPOT, WEB = {"pool": "spot", "zone": "a"}, {"pool": "web"}


@pytest.mark.parametrize(
    ("text", "spot", "web"),
    [
        ("pool=spot", True, False),
        ("pool == spot", True, False),
        ("pool!=spot", False, True),
        ("pool in (spot, web)", True, True),
        ("pool notin (spot),!zone", False, True),
        ("zone", True, False),
        ("pool in (spot,web),zone=a", True, False),
        ("!example.com/gpu", True, True),
    ],
)
def test_each_form_selects_what_it_does_in_kubectl(text: str, spot: bool, web: bool) -> None:
    """The same text is given to kubectl before, to see which nodes it means."""
    selector = parse_selector(text)

    assert (selects(selector, SPOT), selects(selector, WEB)) == (spot, web)


@pytest.mark.parametrize("text", ["", "a=b=c", "pool=spot,", "pool in spot", "a>1"])
def test_what_selects_nothing_is_refused(text: str) -> None:
    """A selector that is misread might empty the wrong nodes."""
    with pytest.raises(InputError, match="write key=value"):
        parse_selector(text)


def test_two_selectors_together_select_what_both_do() -> None:
    """A release's own selector of namespaces stays in force."""
    selector = both({"matchLabels": {"pool": "spot"}}, parse_selector("zone"))

    assert selects(selector, SPOT)
    assert not selects(selector, {"pool": "spot"})
