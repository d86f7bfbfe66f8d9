"""Diagnostics: where a problem lies, what it is, what to do, and how a person reads it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
