"""Runs the pods of one real node as local processes, as a kubelet would.

A fake node starts nothing, so the release under test gets a node of its own that KWOK
does not manage. This package keeps that node Ready and plays its kubelet: volumes,
tokens, environment, probes, restarts and status are real; isolation is missing. What is
not played is refused (`pod.unsupported_fields`). Begin with `kubelet.HostKubelet`.
"""

HOST_LABEL = "stowage.dev/host"
"""Label and taint of the node, which keep any workload off it."""
