"""Decoders behind networks that score tokens: legal segments with probabilities, from logits.

`Decoder` needs neither transformers nor torch. `SegmentPipeline` is a pipeline of transformers that uses it
(the extra `transformers`).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__package__, __file__)
