"""A packing policy on made days, beside the descheduler."""
