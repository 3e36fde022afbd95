"""Feature gates and API groups of a cluster: who is told of which, and what is refused before anything is made."""

from pathlib import Path

import msgspec
import pytest
import yaml

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.cluster import feature_gates
from stowage_testbed.cluster.components import API_SERVER, CONTROLLER_MANAGER
from stowage_testbed.cluster.feature_gates import FeatureGates, make_gates, parse_gates
from stowage_testbed.cluster.kind import render_config
from stowage_testbed.cluster.listing import Owner
from stowage_testbed.cluster.ports import Ports

SERVER_ONLY = "CRDObservedGenerationTracking"
KNOWN = {API_SERVER: {"GenericWorkload", SERVER_ONLY}, CONTROLLER_MANAGER: {"GenericWorkload"}}
GROUP = "scheduling.k8s.io/v1beta1"


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that answer as Kubernetes' own do: one name after the other, and what depends on it at last."""
    for name, known in KNOWN.items():
        words = "|".join(f"{gate}=true|{gate}=false" for gate in known)
        (tmp_path / name).write_text(
            f"""#!/bin/sh
for gate in $(echo "${{1#--feature-gates=}}" | tr , ' '); do
  case $gate in
    {words}) ;;
    Topology=true) needs=yes ;;
    *) echo "E1130 run.go:72] \\"command failed\\" err=\\"unrecognized feature gate: ${{gate%=*}}\\"" >&2; exit 1 ;;
  esac
done
[ -z "$needs" ] || {{ echo 'E1130 run.go:72] "command failed" err="Topology depends on others"' >&2; exit 1; }}
echo Kubernetes v1.37.2
""",
            "utf-8",
        )
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(feature_gates, "tool_path", lambda tool, _minor: tmp_path / tool)


def test_a_program_is_told_of_the_gates_that_it_knows() -> None:
    """One that is named an unknown gate does not start, and not all of them know all."""
    found = make_gates({SERVER_ONLY: True, "GenericWorkload": True}).arguments("1.37")

    assert found[API_SERVER]["feature-gates"] == f"{SERVER_ONLY}=true,GenericWorkload=true"
    assert found[CONTROLLER_MANAGER] == {"feature-gates": "GenericWorkload=true"}


def test_the_api_that_a_gate_is_of_no_use_without_is_served_of_the_minor_s_version() -> None:
    """Nobody should need to know which minor has which; a gate that is off needs none."""
    for minor, group in (("1.36", "scheduling.k8s.io/v1alpha2"), ("1.37", GROUP)):
        arguments = make_gates({"GenericWorkload": True}).arguments(minor)
        assert arguments[API_SERVER]["runtime-config"] == f"{group}=true"
    assert "runtime-config" not in make_gates({"GenericWorkload": False}).arguments("1.37")[API_SERVER]
    assert make_gates({}, ["b/v1", "a/v1"]).arguments("1.37") == {API_SERVER: {"runtime-config": "a/v1=true,b/v1=true"}}


def test_without_any_nothing_is_asked_and_nothing_changes() -> None:
    """Clusters of before come up as before."""
    assert not FeatureGates()
    assert FeatureGates().arguments("1.37") == {}
    assert FeatureGates().find_refusal("1.37") == ""


@pytest.mark.parametrize(
    ("gates", "groups", "minor", "why"),
    [
        ({"Bogus": True}, (), "1.37", "Kubernetes 1.37 has no feature gate Bogus"),
        ({"Topology": True}, (), "1.37", "kube-apiserver of Kubernetes 1.37 refuses .*: Topology depends on others"),
        ({"GenericWorkload": True}, [GROUP], "1.36", f"Kubernetes 1.36 does not serve {GROUP}, which 1.37 can"),
    ],
)
def test_what_no_cluster_can_have_is_refused_in_one_line(
    gates: dict[str, bool], groups: list[str], minor: str, why: str
) -> None:
    """The end of a component's log, after half a minute, would not say it as well."""
    refusal = make_gates(gates, groups).find_refusal(minor)

    with pytest.raises(StowageError, match=why):
        raise StowageError(refusal)
    assert "\n" not in refusal
    assert make_gates({SERVER_ONLY: False, "GenericWorkload": True}, [GROUP]).find_refusal("1.37") == ""


def test_options_say_what_a_file_can() -> None:
    """What is misspelt is refused with an example."""
    assert parse_gates(["B=false", "A", "C=true"], [GROUP]) == FeatureGates(
        (("A", True), ("B", False), ("C", True)), (GROUP,)
    )
    for gates, groups in ((["a"], []), (["A=yes"], []), (["A,B"], []), ([], ["scheduling.k8s.io"])):
        with pytest.raises(InputError, match="write it as in"):
            parse_gates(gates, groups)


def test_of_two_the_later_has_the_last_word() -> None:
    """An option is nearer to the user than the file that it is given for."""
    both = make_gates({"A": True, "B": True}, ["g/v1"]) | make_gates({"B": False}, ["g/v1", "h/v1"])

    assert both == make_gates({"A": True, "B": False}, ["g/v1", "h/v1"])


def test_what_a_cluster_lacks_is_named_as_the_options_that_bring_it() -> None:
    """A cluster that has more than is asked for lacks nothing."""
    asked = make_gates({"GenericWorkload": True, "B": False}, [GROUP])

    assert (
        FeatureGates().lacks(asked, "1.37")
        == f"--feature-gate B=false --feature-gate GenericWorkload=true --api-group {GROUP}"
    )
    assert (asked | make_gates({"C": True})).lacks(asked, "1.37") == ""
    # The gate brings the group.
    assert make_gates(dict(asked.gates)).lacks(asked, "1.37") == ""


def test_kind_s_control_plane_has_the_gates_beside_its_own_arguments(tmp_path: Path) -> None:
    """Not kind's `featureGates`, which a kubelet gets, too, and may not know."""
    arguments = make_gates({"GenericWorkload": True}).arguments("1.37")
    node = yaml.safe_load(render_config("x", "image", 6000, tmp_path / "audit.log", arguments))["nodes"][0]
    kubeadm = yaml.safe_load(node["kubeadmConfigPatches"][0])

    for part in ("apiServer", "controllerManager"):
        given = {one["name"]: one["value"] for one in kubeadm[part]["extraArgs"]}
        assert given["feature-gates"] == "GenericWorkload=true"
        assert len(given) > 2


def test_a_cluster_keeps_its_gates_and_one_of_before_has_none() -> None:
    """Another process that uses it must know; files of older versions stay readable."""
    fields = {"pid": 1, "started_s": 1.0, "kept": True, "claim_id": "x", "ports": Ports(1, 2, 3, 4, 5)}
    owner = Owner(**fields, features=make_gates({"A": True}, [GROUP]))  # type: ignore[arg-type] # of each its own
    written = msgspec.json.encode(owner)
    of_before = {name: value for name, value in msgspec.json.decode(written).items() if name != "features"}

    assert msgspec.json.decode(written, type=Owner) == owner
    assert msgspec.json.decode(msgspec.json.encode(of_before), type=Owner).features == FeatureGates()
