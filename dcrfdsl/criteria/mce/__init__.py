"""Minimum classification error: smooth counts of wrong sequences, positions or segments."""
