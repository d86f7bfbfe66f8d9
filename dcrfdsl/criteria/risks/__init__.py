"""Risks of whole sequences and of single labels: exponential, marginal, and the risk that boosting lowers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
