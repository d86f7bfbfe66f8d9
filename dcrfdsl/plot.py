"""Figures of models as axes of matplotlib, for papers: extra `plot`.

`posteriors(model, sentence, ax=ax)` draws the probabilities of a sentence into `ax` and returns it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__package__, __file__)
