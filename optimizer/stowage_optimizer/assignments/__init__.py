"""Assignments: built pod by pod, repaired, restricted, written as solutions."""
