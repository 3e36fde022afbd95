"""The scheduler's configuration that the chart composes."""

import re
from typing import Any

import pytest
import yaml
from chart_render import PROFILES, Manifest, of_kind, pod_spec, profile_file, render, scheduler_config

from stowage_testbed.helm.install import CHART

pytestmark = pytest.mark.chart
SCHEDULER = CHART.parents[1] / "scheduler"
VALUES: Manifest = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_is_kept_as_its_file_has_it(profile: str) -> None:
    """The files are the single source: tests of the scheduler read them too."""
    file = profile_file(profile)
    rendered = scheduler_config(render(f"profile={profile}", "rbac.allowPreemption=true"))
    client = rendered.pop("clientConnection")
    assert client.pop("kubeconfig") == "/etc/stowage/kubeconfig.yaml"
    election = rendered.pop("leaderElection")
    for entry in rendered["profiles"]:
        entry.pop("pluginConfig", None)
    for entry in (*file["profiles"], *rendered["profiles"]):
        entry.pop("schedulerName")

    assert client == file.pop("clientConnection", {})
    assert election["leaderElect"] is True
    assert rendered == file


@pytest.mark.parametrize("profile", PROFILES)
def test_a_plain_installation_leaves_the_cluster_s_own_scheduler_its_pods(profile: str) -> None:
    """Two schedulers for one name place the same pods, each as if alone."""
    for name, settings in (("stowage", ()), ("mine", ("schedulerName=mine",))):
        config = scheduler_config(render(f"profile={profile}", *settings))

        assert [one["schedulerName"] for one in config["profiles"]] == [name]


@pytest.mark.parametrize("profile", PROFILES)
def test_arguments_go_where_their_plugins_are(profile: str) -> None:
    """Arguments of a plugin that is not enabled stop the scheduler from starting."""
    asked: dict[str, dict[str, Any]] = {
        "PriorityOptimizer": {"seed": 7, "protectedNamespaces": ["ns"]},
        "Reservations": {"retentionSeconds": 9},
        "ScoreCache": {"maxEntries": 11},
        "Devices": {"windowPods": 13},
    }
    settings = (
        f"profile={profile}",
        "priorityOptimizer.seed=7",
        "reservations.retentionSeconds=9",
        "scoreCache.maxEntries=11",
        "devices.windowPods=13",
    )
    (entry,) = scheduler_config(render(*settings))["profiles"]
    enabled = entry.get("plugins", {}).get("multiPoint", {}).get("enabled", [])
    given = {one["name"]: one["args"] for one in entry.get("pluginConfig", [])}

    assert given.keys() == {one["name"] for one in enabled} - {"LexicographicOrder"}
    for plugin in given.keys() & asked.keys():
        assert given[plugin]["kind"] == f"{plugin}Args"
        assert asked[plugin].items() <= given[plugin].items()


BATCHING = "OpportunisticBatching"


@pytest.mark.parametrize("profile", PROFILES)
def test_deterministic_profiles_switch_off_batching(profile: str) -> None:
    """Its cache lives half a second of wall clock, so placements depend on time.

    A user's gates must not switch it on again.
    """
    gates = (f"{BATCHING}=true", "AnyVolumeDataSource=true")
    settings = [f"scheduler.featureGates.{gate}" for gate in gates]
    plain, gated = (
        str(pod_spec(render(f"profile={profile}", *more))["containers"][0]["args"]) for more in ((), settings)
    )
    off = profile.endswith("deterministic")

    assert (f"--feature-gates={BATCHING}=false'" in plain) == off
    asked = f"AnyVolumeDataSource=true,{BATCHING}={str(not off).lower()}"
    assert f"--feature-gates={asked}'" in gated


def test_the_schedulers_kubeconfig_uses_the_pods_own_token() -> None:
    """One way that works on the host and in containers."""
    (config,) = of_kind(render("apiServer.url=https://127.0.0.1:1"), "ConfigMap")
    kubeconfig = yaml.safe_load(config["data"]["kubeconfig.yaml"])

    assert kubeconfig["clusters"][0]["cluster"] == {
        "server": "https://127.0.0.1:1",
        "certificate-authority": "/var/run/secrets/stowage/ca.crt",
    }
    assert kubeconfig["users"][0]["user"] == {"tokenFile": "/var/run/secrets/stowage/token"}


def test_the_defaults_are_the_plugins_own() -> None:
    """A default in two places must be the same in both, and a limit without is none."""
    shown = VALUES["priorityOptimizer"] | {"socket": f"{VALUES['paths']['socket']}/optimizer.sock"}
    defaults = _go_defaults()

    pairs = ((shown, defaults), (shown.pop("limits"), defaults.pop("limits")))
    for ours, plugins in pairs:
        assert {name: ours[name] for name in plugins} == plugins
        assert not any(ours[name] for name in ours.keys() - plugins.keys())


def _go_defaults() -> Manifest:
    """Return the defaults of the plugin, by the names of their fields."""
    go = "\n".join(
        re.sub(r"\b(gate|packingplan)\.", "", (SCHEDULER / name).read_text("utf-8"))
        for name in (
            "plugins/priorityoptimizer/config/args.go",
            "plugins/priorityoptimizer/gate/trigger.go",
            "packingplan/consolidation.go",
        )
    )
    words = dict(re.findall(r'^\s+(\w+) +\w+ = ("\w+")$', go, re.M))
    (literal,) = re.findall(r"return (&PriorityOptimizerArgs\{.*?\n\t\})", go, re.S)
    text = re.sub(r"//.*", "", literal).replace("&PriorityOptimizerArgs", "")
    text = re.sub(r"\b(\w)(\w+): +", lambda m: f"{m[1].lower()}{m[2]}: ", text)
    text = re.sub(r"\b[A-Z]\w+", lambda m: words.get(m[0], ""), text)
    defaults: Manifest = yaml.safe_load(text.replace("\t", " "))
    return defaults


def test_the_defaults_of_the_score_cache_are_the_plugins_own() -> None:
    """The paper's threshold must be the same in both places."""
    go = (SCHEDULER / "plugins/scorecache/plugin.go").read_text("utf-8")
    found = dict(re.findall(r"^\s+Default(\w+)\s+= ([\d.]+)$", go, re.M))
    shown = VALUES["scoreCache"]

    assert shown["refreshThreshold"] == float(found["RefreshThreshold"])
    assert shown["maxEntries"] == int(found["MaxEntries"])
    assert shown["trustedPlugins"] == []


def test_the_defaults_of_the_plugin_devices_are_its_own() -> None:
    """A profile without arguments and the chart's must score alike."""
    go = (SCHEDULER / "plugins/devices/args.go").read_text("utf-8")
    (found,) = re.findall(r"DevicesArgs\{WindowPods: ([\d_]+)\}", go)

    assert VALUES["devices"] == {"windowPods": int(found)}
