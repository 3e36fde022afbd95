"""PackingPlans of any cluster, for people: look at them, approve them, give them up."""

from stowage_testbed.plan.api import PlanApi
from stowage_testbed.plan.page import page_of

__all__ = ["PlanApi", "page_of"]
