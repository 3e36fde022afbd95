"""Faults again and again, and random plans before both verifiers, in figures."""
