"""A template over the scores of a network in JAX: `pip install 'dcrfdsl[jax]'`.

functions = dcrfdsl.jax.TemplateFunctions("tags.dcrf")
loss = -functions.log_prob(weights, scores, tags, lengths).mean()
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__package__, __file__)
