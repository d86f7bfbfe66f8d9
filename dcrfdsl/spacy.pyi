from .integrations import (
    SpacyTagger as SpacyTagger,
    corpus_from_docs as corpus_from_docs,
    make_tagger as make_tagger,
)
