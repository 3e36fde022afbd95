"""The stage for pods with relations to other pods."""
