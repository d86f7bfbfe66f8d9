"""Settings of inference, criteria, optimizers and priors: types, defaults, limits."""
