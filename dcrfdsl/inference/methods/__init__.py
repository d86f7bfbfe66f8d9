"""Inference methods: exact, message passing, variational, and mixtures of them."""
