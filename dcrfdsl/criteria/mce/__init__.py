"""Minimum classification error: smooth counts of wrong sequences, positions or segments."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
