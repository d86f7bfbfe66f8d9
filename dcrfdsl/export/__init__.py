"""Models for other programs: self-contained taggers, which need numpy alone, and ONNX graphs of chains over scores."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
