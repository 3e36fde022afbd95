"""A packing policy in virtual time, beside the descheduler: `evaluation.evaluate_policy`."""
