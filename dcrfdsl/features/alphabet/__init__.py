"""Alphabets: the keys that have a feature, the id of each, and their storage."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
