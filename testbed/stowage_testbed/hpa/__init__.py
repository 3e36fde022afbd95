"""Recovery of a service under the real HorizontalPodAutoscaler (second paper, 5.2.2).

The scheduler, the autoscaler, its metrics-server and the pods' objects are real. Only
the web service is not: nothing runs on a fake node, so how long its requests take
comes from the model in `stowage_testbed.hpa.model`, whose assumptions and limits stand
in the README beside this file.
"""
