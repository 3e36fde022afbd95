"""From certificates to the contract's messages."""

from __future__ import annotations

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.certificate import Certificate, DualBound


def encode_certificate(certificate: Certificate) -> pb.Certificate:
    """Return ``certificate`` as the contract's message."""
    dual = certificate.dual
    return pb.Certificate(
        status=pb.ProofStatus.Name(certificate.status.value),
        method=pb.ProofMethod.Name(certificate.method.value),
        dual_bound=None if dual is None else _dual(dual),
    )


def _dual(dual: DualBound) -> pb.DualBound:
    return pb.DualBound(
        scale=dual.scale,
        pods=[
            pb.PodPrice(pod_uids=one.pod_uids, pod=one.pod, run=one.run)
            for one in dual.pods
        ],
        requirements=[
            pb.RequirementPrice(
                priority=one.priority,
                phase=pb.Phase.Name(one.phase),
                price=one.price,
            )
            for one in dual.requirements
        ],
    )
