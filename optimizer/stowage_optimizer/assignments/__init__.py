"""Assignments: built pod by pod, made whole, restricted, written as solutions."""
