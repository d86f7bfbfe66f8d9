"""Training: from a specification and data to a trained model."""
