"""Recovery of a service under the real HorizontalPodAutoscaler (second paper, 5.2.2).

Only the web service is not real: how long its requests take comes from `hpa.model`; see the README beside this file.
"""
