"""What a trace's record in virtual time says of devices."""

from typing import Any

from trace_lines import HEADER, came, node, seen

from stowage_testbed.cluster.devices import Devices, make_classes, make_pool
from stowage_testbed.simulate.trace_answer import make_record
from stowage_testbed.simulate.virtual_time import Life, PassedTime
from stowage_testbed.trace import format as trace
from stowage_testbed.trace.reading import Trace

GPUS = Devices(model="H100", count=4, memory="80Gi", shares=True)
CLAIMED = {"deviceClassName": "h100", "capacity": {"requests": {"memory": "20Gi"}}}


def listed(manifest: dict[str, Any]) -> trace.ObjectSeen:
    return trace.ObjectSeen(t=0, object=manifest)


def test_nodes_have_devices_and_pods_take_what_their_templates_ask_for() -> None:
    """Metrics count them as those of a live run do, whether a pod has a node or waits."""
    spec: dict[str, Any] = {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": CLAIMED}]}}}
    claims = [{"name": "gpu", "resourceClaimTemplateName": "web"}, {"name": "own", "resourceClaimName": "theirs"}]
    pod = trace.PodTemplate({}, {}, {"containers": [{"name": "c"}], "resourceClaims": claims})
    lines: tuple[trace.Line, ...] = (
        node(0),
        *map(listed, [*make_classes([GPUS]), *make_pool("n1", [GPUS])]),
        seen(0, "ResourceClaimTemplate", "resource.k8s.io/v1", spec=spec),
        seen(0, "ResourceClaim", "resource.k8s.io/v1", name="theirs", spec=spec["spec"]),
        trace.Template(t=0, id="a", template=pod),
        came(1),
    )
    passed = PassedTime((Life("ns/p", "a", 1.0),), 2.0)

    record = make_record(Trace(HEADER, lines), passed, "day", "default")

    assert [one.resources["devices/h100"] for one in record.nodes] == [4000]
    assert [one.requests["devices/h100"] for one in record.pods] == [250]
