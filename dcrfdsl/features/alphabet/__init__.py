"""Alphabets: which keys have a feature, its id, and how both are stored."""
