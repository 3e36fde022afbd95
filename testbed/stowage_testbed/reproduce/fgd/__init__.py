"""The evaluation of FGD on a trace of a GPU cluster, beside its published results, and scores of our own.

Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent", ATC'23,
and its simulator, github.com/hkust-adsl/kubernetes-scheduler-simulator at 8f3d641, whose files are cited by line.
"""
