"""Constraints between pods that no capacity expresses: affinity and spread.

`compile_relations` describes them by tallies: counts of pods by topology domain.
`DomainCounts` keeps the counts while pods come and go, and decides which pods may come.
"""
