"""The resource metrics API of a cluster, from KWOK's simulated usage.

The real metrics-server runs as a local process. It scrapes KWOK, which plays every fake node's kubelet, and serves
``metrics.k8s.io`` behind the API server, where the HorizontalPodAutoscaler and ``kubectl top`` find it.
"""
