"""What meets other people's libraries, a file each: components of pipelines, decoders behind networks, layers of
networks, figures.

Programs use the short names: `dcrfdsl.jax`, `dcrfdsl.plot`, `dcrfdsl.spacy`, `dcrfdsl.torch`, `dcrfdsl.transformers`. A
library is loaded when a name that needs it is first asked for. Not here: models, training, data.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
