"""A packing policy tried on a day in virtual time, beside the descheduler."""
