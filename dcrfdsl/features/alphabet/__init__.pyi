from .conjunctions import (
    Conjunctions as Conjunctions,
    conjoined as conjoined,
    conjunction_arrays as conjunction_arrays,
    restored_conjunctions as restored_conjunctions,
)
from .feature_alphabet import (
    Alphabet as Alphabet,
    KeyTable as KeyTable,
    TemplateCounter as TemplateCounter,
    TemplateTables as TemplateTables,
    lock as lock,
)
from .storage import (
    FeaturesRecord as FeaturesRecord,
    Vocabularies as Vocabularies,
    alphabet_arrays as alphabet_arrays,
    alphabet_metadata as alphabet_metadata,
    restored_alphabets as restored_alphabets,
)
