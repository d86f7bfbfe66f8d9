"""Variants of a graph: clamped, constrained, cost-augmented, without the known labelling."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
