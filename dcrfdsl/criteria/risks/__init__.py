"""Risks of whole sequences and of single labels: exponential, marginal, and the one that boosting lowers."""
