from .spacy_component import SpacyTagger as SpacyTagger, make_tagger as make_tagger
from .spacy_documents import corpus_from_docs as corpus_from_docs
