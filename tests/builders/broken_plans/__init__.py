"""A good plan, and ways to break it: each breaks one rule of the checker, no other."""

from __future__ import annotations

from broken_plans.claims import CLAIMS
from broken_plans.context import Mutation, Mutations, PlanContext
from broken_plans.disruptions import DISRUPTIONS
from broken_plans.names import NAMES
from broken_plans.places import PLACES
from broken_plans.snapshots import SNAPSHOTS

__all__ = ["MUTATIONS", "Mutation", "PlanContext"]

MUTATIONS: Mutations = {**SNAPSHOTS, **NAMES, **PLACES, **DISRUPTIONS, **CLAIMS}
