"""Training criteria: value and gradient of an objective over a data set."""
