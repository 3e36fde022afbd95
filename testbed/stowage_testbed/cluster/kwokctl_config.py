"""The configuration of a cluster, of kwokctl in one file with KWOK's stages, and what that of kind has in common."""

import functools
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from string import Template

import yaml

from stowage_testbed.cluster.ports import Ports
from stowage_testbed.toolchain import tool_path
from stowage_testbed.toolchain.manifest import find_minor

AUDIT_POLICY = Path(__file__).with_name("audit-policy.yaml")
STAGES = Path(__file__).with_name("kwok-stages.yaml")
ETCD_SOCKET = "etcd.sock"
FAKE_NODE_ANNOTATION = "kwok.x-k8s.io/node"

ExtraArgs = Mapping[str, Mapping[str, str]]
"""Arguments by component, then by name without dashes."""


def render_config(minor: str, ports: Ports, extra_args: ExtraArgs) -> str:
    """Return the configuration of a cluster of a minor, with ``extra_args`` on top of kwokctl's own."""
    replaced = arguments_of("kwokctl, in place of its own")
    patches = [
        {
            "name": component,
            "extraArgs": [
                *({"key": key, "value": value} for key, value in given.items()),
                *({"key": key, "value": value, "override": True} for key, value in replaced.get(component, {}).items()),
            ],
        }
        for component, given in merged_arguments(arguments_of("both", "kwokctl"), extra_args).items()
    ]
    tools = ("etcd", "kube-apiserver", "kube-controller-manager", "kwok")
    config = fill_in(
        "kwokctl-config",
        version=find_minor(minor).kubernetes,
        audit_policy=str(AUDIT_POLICY),
        patches=patches,
        **{name.replace("-", "_"): str(tool_path(name, minor)) for name in tools},
        **{f"{component}_port": port for component, port in asdict(ports).items()},
    )
    return config + STAGES.read_text(encoding="utf-8")


def fill_in(template: str, /, **values: object) -> str:
    """Return the text of ``<template>.yaml`` with the values, which are JSON: YAML that stands in one line."""
    text = Path(__file__).with_name(f"{template}.yaml").read_text("utf-8")
    return Template(text).substitute({key: json.dumps(value) for key, value in values.items()})


def config_file(workdir: Path) -> Path:
    """Return where a cluster's configuration is."""
    return workdir / "kwokctl.yaml"


@functools.cache
def _read_arguments() -> Mapping[str, ExtraArgs]:
    found: Mapping[str, ExtraArgs] = yaml.safe_load(Path(__file__).with_name("arguments.yaml").read_text("utf-8"))
    return found


def arguments_of(*sections: str, **values: object) -> ExtraArgs:
    """Return the arguments in sections of ``arguments.yaml``, filled in with the values."""
    merged = merged_arguments(*(_read_arguments()[section] for section in sections))
    return {
        component: {name: Template(value).substitute(values) for name, value in arguments.items()}
        for component, arguments in merged.items()
    }


def merged_arguments(*layers: ExtraArgs) -> ExtraArgs:
    """Return the arguments of all layers; a later one wins."""
    arguments: dict[str, dict[str, str]] = {}
    for layer in layers:
        for component, values in layer.items():
            arguments.setdefault(component, {}).update(values)
    return arguments
