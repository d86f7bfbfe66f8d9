"""Trained models: prediction, serialization, and what a model says of its own weights."""
