"""A template over the scores of a network in JAX: extra `jax`.

`functions = TemplateFunctions("tags.dcrf")` are pure functions, and `-functions.log_prob(weights, scores, tags,
lengths).mean()` is a loss.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__package__, __file__)
