"""Inference: methods over data sets (`METHODS`), and over one graph with explicit tables (`infer_graph`)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
