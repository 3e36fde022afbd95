"""A user's own arm, from an arm file."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from annotated_types import Gt, Interval, MinLen

from stowage_testbed.api.pod_templates import PodOverrides
from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.cluster.feature_gates import DEFAULTS, FeatureGates, spell
from stowage_testbed.cluster.ports import LOOPBACK
from stowage_testbed.compare.arms.kube_scheduler import DEFAULT_LIMITS
from stowage_testbed.compare.arms.serving import STOCK_SCHEDULER, Arm, ArmRelease, Place, digest, make_manifests
from stowage_testbed.compare.arms.settings import ArmSettings, ClientLimits
from stowage_testbed.scenario.reading import read
from stowage_testbed.scenario.steps.action import Where
from stowage_testbed.scenario.types import READ, Filled, Label, Some, Written
from stowage_testbed.scenario.yaml_file import ScenarioIssuesError, compose, read_node, suggest_known
from stowage_testbed.toolchain import choose_minor

PLACEHOLDERS = ("kubeconfig", "config", "port", "folder", "qps", "burst", "featureGates")

_PLACEHOLDER = re.compile(r"\{([A-Za-z][A-Za-z0-9_-]*)\}")


def _filled(text: str, values: Mapping[str, object]) -> str:
    """Return a text with the known placeholders replaced; other braces are kept."""
    return _PLACEHOLDER.sub(lambda match: str(values.get(match[1], match[0])), text)


def _arm_name(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?", value):
        raise ValueError(
            f"{value!r} cannot name an arm: lower-case letters, digits and '-' inside, at most 30, as in my-scheduler"
        )
    return value


def _loopback(value: str) -> str:
    address = urlsplit(value)
    if address.scheme not in {"http", "https"} or address.hostname != LOOPBACK:
        raise ValueError(
            f"{value!r} is no address on {LOOPBACK}; nothing of an arm listens "
            f"elsewhere: write for example https://{LOOPBACK}:{{port}}/readyz"
        )
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Rights beyond those of roles, as in a ClusterRole."""

    apiGroups: tuple[str, ...] | None = None  # noqa: N815
    resources: tuple[str, ...] | None = None
    resourceNames: tuple[str, ...] | None = None  # noqa: N815
    nonResourceURLs: tuple[str, ...] | None = None  # noqa: N815
    verbs: Annotated[tuple[str, ...], MinLen(1)]


@dataclass(frozen=True, slots=True)
class Declared:
    """How a scheduler runs, for the check that the arms are a fair comparison."""

    version: Filled = "unknown"
    """Shown beside its name."""
    qps: Annotated[float, Gt(0)] | None = None
    """Requests a second that its client may make, and {qps} unless limits are given; left out where there is no
    limit."""
    burst: Some | None = None
    """Requests that its client may make at once, and {burst} unless limits are given; left out where there is no
    limit."""
    parallelism: Some | None = None
    """Goroutines or threads that look at nodes side by side; left out for a scheduler without."""
    sampledPercent: Annotated[int, Interval(ge=1, le=100)] | None = None  # noqa: N815
    """The share of nodes that it scores; left out for kube-scheduler's adaptive default."""
    featureGates: Mapping[str, bool] = field(default_factory=dict)  # noqa: N815
    """Feature gates as they are in effect, OpportunisticBatching among them."""
    webhooks: tuple[Filled, ...] = ()
    """Admission webhooks that come with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmFile:
    """A scheduler to compare with others, and how it is started."""

    __pydantic_config__ = READ

    name: Annotated[str, Written(str, _arm_name)]
    """The word for it in tables."""
    binary: Filled = ""
    """The program; a relative path begins at this file's folder."""
    image: Filled = ""
    """A container image with the program."""
    arguments: tuple[str, ...]
    """Its arguments. {kubeconfig}, {config}, {port}, {folder}, {qps}, {burst} and {featureGates} stand for the file
    with its credentials, that with its configuration, a free port of 127.0.0.1, its own folder, its client limits, and
    the feature gates of the scenario, as in A=true,B=false."""
    configuration: Filled = ""
    """The text of its configuration file, with the same placeholders."""
    configurationFile: Filled = ""  # noqa: N815
    """A file to take the configuration from; a relative path begins at this file's folder."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Further variables of its environment, with the same placeholders. KUBECONFIG is set."""
    schedulerName: Label  # noqa: N815
    """The spec.schedulerName of the pods that it places."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that its pods need."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Annotations that its pods need."""
    ready: Annotated[str, Written(str, _loopback)]
    """The address on 127.0.0.1 that answers 200 once it schedules, as in https://127.0.0.1:{port}/readyz."""
    clusterRoles: tuple[Filled, ...] = STOCK_SCHEDULER  # noqa: N815
    """Roles of the cluster that its account is given; by default those of Kubernetes' own scheduler."""
    rules: tuple[Rule, ...] = ()
    """Rights beyond these roles, as in a ClusterRole."""
    settings: Declared = field(default_factory=Declared)
    """How it runs, for the check that the arms are a fair comparison."""


@dataclass(frozen=True, slots=True)
class FileArm(Arm):
    """A scheduler that its file describes, which lies in ``folder``; without a configuration file, that is empty."""

    name: str
    file: ArmFile
    folder: Path
    pod_overrides: PodOverrides
    configuration: str
    minor: str = field(default_factory=choose_minor)
    features: FeatureGates = DEFAULTS
    tools: tuple[str, ...] = ()
    """Its program is the user's."""

    @property
    def binary(self) -> Path:
        """Its program."""
        return self.folder / self.file.binary

    def build(self) -> str:
        """Return a digest of the program and of all that its file says."""
        try:
            program = self.binary.read_bytes()
        except OSError as error:
            raise InputError(f"cannot read the program {self.binary}: {error.strerror}") from error
        return digest([program, *self._texts(), repr(self.settings(None))])

    def settings(self, limits: ClientLimits | None) -> ArmSettings:
        """Return how it will run, as far as its file says; limits reach it by their placeholders only."""
        told = self.file.settings
        declared = ArmSettings(
            version=told.version,
            qps=told.qps,
            burst=told.burst,
            parallelism=told.parallelism,
            sampled_percent=told.sampledPercent,
            feature_gates=told.featureGates,
            webhooks=told.webhooks,
            notes=("its settings are as its file declares them",),
        )
        taken = _PLACEHOLDER.findall("".join(self._texts()))
        given = {name: value for name, value in asdict(limits).items() if name in taken} if limits else {}
        gates = dict(self.features.gates) if "featureGates" in taken else {}
        return replace(declared, feature_gates={**declared.feature_gates, **gates}, **given)

    def release(self, place: Place, limits: ClientLimits | None) -> ArmRelease:
        """Return its program, with the placeholders filled in."""
        run = self.settings(limits)
        values: dict[str, object] = {
            "kubeconfig": place.kubeconfig,
            "config": place.config,
            "folder": place.folder,
            "port": place.port,
            "qps": f"{run.qps or DEFAULT_LIMITS.qps:g}",
            "burst": run.burst or DEFAULT_LIMITS.burst,
            "featureGates": spell(dict(self.features.gates)),
        }
        text = _filled(self.configuration, values)
        command = [str(self.binary), *(_filled(word, values) for word in self.file.arguments)]
        environment = {name: _filled(value, values) for name, value in self.file.environment.items()}
        environment = {"KUBECONFIG": str(place.kubeconfig), **environment}
        rules = [{key: value for key, value in asdict(one).items() if value is not None} for one in self.file.rules]
        manifests = make_manifests(
            place,
            command,
            text,
            _filled(self.file.ready, values),
            environment=environment,
            cluster_roles=self.file.clusterRoles,
            rules=rules,
        )
        return ArmRelease(manifests, text)

    def _texts(self) -> list[str]:
        return [*self.file.arguments, *self.file.environment.values(), self.configuration]


def load_arm_file(path: Path) -> FileArm:
    """Return the scheduler that a file describes; an `InputError` has each issue with line, column and the way out."""
    # Programs run in folders of their own.
    folder = path.resolve().parent
    try:
        root = compose(path, "")
    except ScenarioIssuesError as error:
        raise InputError(str(ScenarioIssuesError(error.issues, "the arm file"))) from None
    except StowageError as error:
        raise InputError(f"{error}; it should be an arm file") from error
    document = read_node(path, root, [])
    file = read(ArmFile, document, "the arm file")
    data = document.data if isinstance(document.data, Mapping) else {}
    for place, message, of_key in _rule_issues(data, folder):
        document.report(place, message, of_key=of_key)
    if file is None or document.issues:
        raise InputError(str(ScenarioIssuesError(document.issues, "the arm file")))
    overrides = PodOverrides(file.schedulerName, file.labels, file.annotations)
    return FileArm(file.name, file, folder, overrides, _configuration_text(data, folder) or "")


Data = Mapping[str, Any]
RuleIssue = tuple[Where, str, bool]
"""Where it is, what is wrong, and whether the key is meant and not its value."""


def _configuration_text(data: Data, folder: Path) -> str | None:
    """Return the configuration, wherever it stands; ``None`` if there is none."""
    text, file = data.get("configuration"), data.get("configurationFile")
    if isinstance(text, str):
        return text
    if not isinstance(file, str):
        return None
    try:
        return (folder / file).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _rule_issues(data: Data, folder: Path) -> Iterator[RuleIssue]:
    """Yield what is wrong beyond single values, of which any may be wrong; ``folder`` is the file's own."""
    binary, config_file = data.get("binary"), data.get("configurationFile")
    if "image" in data:
        yield ("image",), "images are not run; take the program out of the image and name it with `binary`", True
    elif "binary" not in data:
        yield (), "the arm file lacks the key 'binary'; add it. The program to start.", False
    if isinstance(binary, str):
        file = folder / binary
        if not file.is_file():
            yield ("binary",), f"there is no file {file}; build it, or correct it", False
        elif not os.access(file, os.X_OK):
            yield ("binary",), f"{file} cannot be run; make it executable: chmod +x {file}", False
    if "configuration" in data and "configurationFile" in data:
        yield ("configurationFile",), "the configuration stands in the file already; keep one of the two", True
    elif isinstance(config_file, str) and _configuration_text(data, folder) is None:
        yield ("configurationFile",), f"there is no readable text in {folder / config_file}; correct the path", False
    yield from _placeholder_issues(data)


def _placeholder_issues(data: Data) -> Iterator[RuleIssue]:
    """Yield what is wrong with the placeholders in the command line, the environment and the address."""
    arguments, environment, address = data.get("arguments"), data.get("environment"), data.get("ready")
    found: list[tuple[Where, Any]] = []
    if isinstance(arguments, list):
        found += [(("arguments", number), text) for number, text in enumerate(arguments)]
    if isinstance(environment, Mapping):
        found += [(("environment", name), text) for name, text in environment.items()]
    started_with = [(place, text) for place, text in found if isinstance(text, str)]
    ready = [(("ready",), address)] if isinstance(address, str) else []
    misspelt = False
    for place, text in (*started_with, *ready):
        for name in _PLACEHOLDER.findall(text):
            if name not in PLACEHOLDERS:
                misspelt = misspelt or place != ("ready",)
                yield place, f"no placeholder is called {{{name}}}; {suggest_known(name, PLACEHOLDERS)}", False
    given = [key for key in ("configuration", "configurationFile") if key in data]
    takers = [place for place, text in started_with if "{config}" in text]
    if given and not takers:
        yield (given[0],), "nothing takes the configuration; add an argument with {config}", True
    for place in () if given else takers:
        yield place, "there is no configuration for {config}; add `configuration`", False
    # One that is misspelt may be meant for the port.
    told = "".join((*(text for _, text in started_with), str(data.get("configuration", ""))))
    if ready and "{port}" in ready[0][1] and "{port}" not in told and not misspelt:
        yield ("ready",), "nothing tells the program {port}; add an argument with it", False
