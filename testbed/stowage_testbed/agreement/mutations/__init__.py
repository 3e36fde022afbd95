"""Ways to spoil a plan: one function a way.

Each changes the plan in the scene and tells whether it found anything to change.
Whether that breaks a rule depends on the cluster: that is what is judged.
"""

from stowage_testbed.agreement.mutations.claims import CLAIMS
from stowage_testbed.agreement.mutations.names import NAMES
from stowage_testbed.agreement.mutations.scene import Mutation, Scene
from stowage_testbed.agreement.mutations.steps import STEPS
from stowage_testbed.agreement.mutations.victims import VICTIMS

MUTATIONS: tuple[Mutation, ...] = (*NAMES, *STEPS, *VICTIMS)
"""Those that change what the plan does."""

__all__ = ["CLAIMS", "MUTATIONS", "Mutation", "Scene"]
