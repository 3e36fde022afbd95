"""Mutations of a plan: one function each.

Each changes the plan in its context and returns whether it found anything to change.
Whether that breaks a rule depends on the cluster: that is what is compared.
"""

from stowage_testbed.agreement.mutations.claims import CLAIMS
from stowage_testbed.agreement.mutations.context import Mutation, MutationContext
from stowage_testbed.agreement.mutations.disruptions import DISRUPTIONS
from stowage_testbed.agreement.mutations.names import NAMES
from stowage_testbed.agreement.mutations.steps import STEPS

MUTATIONS: tuple[Mutation, ...] = (*NAMES, *STEPS, *DISRUPTIONS)
"""Those that change what the plan does."""

__all__ = ["CLAIMS", "MUTATIONS", "Mutation", "MutationContext"]
