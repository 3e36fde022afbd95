"""PackingPlans of any cluster, for people: look at them, approve them, give them up."""

from testbed.plan.api import PlanApi
from testbed.plan.page import page_of

__all__ = ["PlanApi", "page_of"]
