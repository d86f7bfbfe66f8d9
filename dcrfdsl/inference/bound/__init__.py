"""Data bound to a model: packed features, score tables, and the chains among the graphs."""
