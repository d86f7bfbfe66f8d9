"""Conditions, constraints and memories as tables over states and data."""
