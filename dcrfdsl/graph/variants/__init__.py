"""Graphs changed for a purpose: clamped, constrained, cost-augmented, without the known labelling."""
