"""The parts of a specification: labels, cliques, features, terms and conditions."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
