"""A template as the last layer of a network in PyTorch: `pip install 'dcrfdsl[torch]'`.

layer = dcrfdsl.torch.Layer("tags.dcrf")
loss = -layer(scores, lengths).log_prob(tags).mean()
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__package__, __file__)
