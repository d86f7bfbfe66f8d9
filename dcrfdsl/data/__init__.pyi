from .copies import repeated as repeated
from .corpus import (
    BagColumn as BagColumn,
    Corpus as Corpus,
    InternedColumn as InternedColumn,
    NumericColumn as NumericColumn,
)
from .emitter_table import EMITTERS as EMITTERS
from .emitters import Emitter as Emitter, Export as Export
from .export_columns import (
    SUFFIXES as SUFFIXES,
    check_places as check_places,
    columns_in as columns_in,
    discovered as discovered,
)
from .formats import with_gold_kept as with_gold_kept, with_predictions_apart as with_predictions_apart
from .frames import (
    DataFrame as DataFrame,
    column_values as column_values,
    corpus_from_frame as corpus_from_frame,
    corpus_from_rows as corpus_from_rows,
    sentence_starts as sentence_starts,
)
from .iob import remarked as remarked
from .labels import (
    EncodedLabels as EncodedLabels,
    check_gold as check_gold,
    encode_known_labels as encode_known_labels,
    encode_labels as encode_labels,
    raise_if_any as raise_if_any,
    unknown_by_label as unknown_by_label,
    unknown_label_tokens as unknown_label_tokens,
)
from .left_out import LeftOut as LeftOut
from .partial import places as places, read_cells as read_cells
from .readers import READERS as READERS, Chunk as Chunk, read_corpus as read_corpus, stream_corpus as stream_corpus
from .running_texts import (
    corpus_of_texts as corpus_of_texts,
    text_within as text_within,
    tokenize as tokenize,
    tokens_of_text as tokens_of_text,
)
from .segment_types import (
    ENDS as ENDS,
    STARTS as STARTS,
    Segments as Segments,
    mark_table as mark_table,
    run_table as run_table,
    segments_of as segments_of,
)
from .sentence_reader import SentenceReader as SentenceReader, corpus_of_length as corpus_of_length
from .sentence_states import (
    refuse_mixed as refuse_mixed,
    telling_tokens as telling_tokens,
    value_of_sentence as value_of_sentence,
)
from .shown_words import runs_of as runs_of, word_column as word_column
from .states import declared_states as declared_states, learn_states as learn_states, variable_states as variable_states
from .writers import WRITERS as WRITERS, TaggedOutput as TaggedOutput, tagged as tagged
