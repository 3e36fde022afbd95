"""Proved bounds on what any plan can reach, phase by phase and tier by tier.

How to use it::

    question = Question(problem, tier, Phase.PLACE, reached)
    bound = knapsack_bound(question, clock=clock, deadline=deadline)
    if bound is not None and bound.value < proved:
        proved = bound.value            # and bound.method says why

    first = aggregate_bound(question, clock, deadline)
                                        # the same, of any size, and its prices

    search = DualSearch(question, nodes, clock, first=first)
    bound = search.run(deadline, good_enough=reached_value)
                                        # for any phase, stronger, slower

``search.run`` goes on where it stopped, until ``search.finished``. ``nodes`` holds the
node of each item, negative for none, of the best assignment known.

    closed = Enumeration(question, bound.prices).reach(
        bound.value, clock=clock, deadline=deadline
    )                                   # after a dual bound that leaves a small gap
    if closed is not None and closed.nodes is not None:
        offer(closed.nodes)             # is as good as the aim, once repaired

    nodes = recombine(
        search, nodes, next_better, clock=clock, deadline=deadline
    )                                   # proves nothing, but often finds something

    bounds[tier].placed = bound.value   # a `TierBounds`, as plans are written from
    bounds[tier].place = Proof(bound.method, dual_certificate(question, packing, bound))

``dual_certificate`` turns the prices of a dual bound into a certificate that can be checked with
``stowage-optimizer verify --certificate``. Call it once, for the bound that is
reported.

``reached`` holds a `TierScore` for each tier down to ``tier``: of the tiers above the
whole score, of this tier what its earlier phases reached. A bound is true for every
assignment that is at least as good in each of those numbers, so it proves a tier
optimal only where the tiers above are proved optimal too. Ask `KEEP` under `STRICT`
only. Every function stops soon after its deadline and answers None if it has nothing.

No bound depends on a rounded number being right: what floating point finds are
multipliers, and the bound is then computed from them in integers.
"""
