"""A template as the last layer of a network in PyTorch: extra `torch`.

`layer = Layer("tags.dcrf")` is a module, and `-layer(scores, lengths).log_prob(tags).mean()` a loss.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__package__, __file__)
