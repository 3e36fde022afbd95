"""A PackingPolicy over a simulated day, beside the descheduler's rule."""
