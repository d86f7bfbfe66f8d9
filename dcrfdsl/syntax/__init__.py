"""The surface of the language: from text to tree (`parse`) and back (`format_template`).

Depends only on `errors` and `errors.registry`. Not here: the meaning of names and settings (`semantics`).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
