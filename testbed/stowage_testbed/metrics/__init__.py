"""Figures of a run: pure functions of one `RunRecord`, or of one `ClusterState`.

The function `measure_SUBJECT` of the file SUBJECT yields metrics; `catalogue` finds it.
"""
