"""The values that make the chart run on a testbed cluster."""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import yaml

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.components import HOST_TAINT
from stowage_testbed.cluster.ports import port_beside

Values = dict[str, object]


def testbed_values(cluster: Cluster, *, profile: str, optimizer_enabled: bool) -> Values:
    """Return the values that the testbed needs; a `StowageError` if a program that the release runs is missing."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - `stowage --help` has no use for it

    where = cluster.release_location
    optimizer = Path(sys.executable).with_name("stowage-optimizer")
    if not where.containers and not optimizer.is_file():
        raise StowageError(
            f"{optimizer} does not exist; install the project into this environment, as `make setup` does"
        )
    templates = Environment(
        loader=PackageLoader(__package__, "."),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - YAML
    )
    text = templates.get_template("testbed-values.yaml.j2").render(
        profile=profile,
        optimizer_enabled=optimizer_enabled,
        where=where,
        taint=HOST_TAINT,
        server=where.api_server_url or api_server_url(cluster.kubeconfig),
        scheduler="" if where.containers else str(_program_of(cluster, "stowage-scheduler")),
        optimizer=str(optimizer),
        port=0 if where.containers else port_beside(cluster.name),
        workdir=str(cluster.workdir),
    )
    values: Values = yaml.safe_load(text)
    return values


def _program_of(cluster: Cluster, name: str) -> Path:
    """Give a cluster a program for as long as it lives, whatever is built meanwhile."""
    installed = cluster.tool_path(name)
    copy = cluster.workdir / "programs" / installed.parent.name / name
    if not copy.is_file():
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            copy.hardlink_to(installed)
        except OSError:  # another disk
            shutil.copy2(installed, copy)
    return copy


def merge_values(base: Mapping[str, object], over: Mapping[str, object]) -> Values:
    """Return ``base`` with the entries of ``over``, maps merged as Helm merges them."""
    merged = {**base, **over}
    for key, former in base.items():
        value = over.get(key)
        if isinstance(former, Mapping) and isinstance(value, Mapping):
            merged[key] = merge_values(former, value)
    return merged


def api_server_url(kubeconfig: Path) -> str:
    """Return the API server's address from the kubeconfig's only cluster."""
    content = yaml.safe_load(kubeconfig.read_text("utf-8"))
    return str(content["clusters"][0]["cluster"]["server"])


def values_refused(values_file: Path, issues: str) -> StowageError:
    """Return the error that the values do not fit the chart."""
    return StowageError(
        f"the chart refuses the values in {values_file}:\n{issues.strip()}\n"
        "charts/stowage/values.yaml explains every value, and "
        "charts/stowage/values.schema.json has their types and limits"
    )
