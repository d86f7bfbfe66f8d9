"""Models in a spaCy pipeline, and spaCy's documents as training data: extra `spacy`.

`nlp.add_pipe("dcrfdsl", config={"model": "ner.model"})` needs no import of this module. `corpus_from_docs` makes a
corpus of annotated documents, for `dcrfdsl.fit`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__package__, __file__)
