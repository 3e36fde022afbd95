"""No claim is false: answers for small clusters beside every plan that there is."""
