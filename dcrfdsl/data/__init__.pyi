from .corpus import (
    BagColumn as BagColumn,
    Corpus as Corpus,
    InternedColumn as InternedColumn,
    NumericColumn as NumericColumn,
    StoredCorpus as StoredCorpus,
    joined_scores as joined_scores,
    token_error as token_error,
    word_column as word_column,
)
from .formats import (
    FORM_NAMES as FORM_NAMES,
    Chunk as Chunk,
    DataFormat as DataFormat,
    Emitter as Emitter,
    Export as Export,
    LeftOut as LeftOut,
    as_task as as_task,
    beginning_of as beginning_of,
    check_places as check_places,
    data_format as data_format,
    discovered as discovered,
    format_of_suffix as format_of_suffix,
    written_formats as written_formats,
)
from .frames import (
    SentenceReader as SentenceReader,
    column_values as column_values,
    corpus_from_frame as corpus_from_frame,
    corpus_from_rows as corpus_from_rows,
    corpus_of_length as corpus_of_length,
    frame_with as frame_with,
    is_by_sentence as is_by_sentence,
    is_frame as is_frame,
    listed_values as listed_values,
    open_frame as open_frame,
    sentence_starts as sentence_starts,
)
from .label_columns import (
    SoftStates as SoftStates,
    label_cells as label_cells,
    places as places,
    refuse_mixed as refuse_mixed,
    telling_tokens as telling_tokens,
    value_of_sentence as value_of_sentence,
)
from .labels import (
    EncodedLabels as EncodedLabels,
    check_gold as check_gold,
    encode_known_labels as encode_known_labels,
    encode_labels as encode_labels,
    raise_if_any as raise_if_any,
    unknown_by_label as unknown_by_label,
)
from .readers import read_corpus as read_corpus, stream_corpus as stream_corpus
from .running_texts import (
    corpus_of_texts as corpus_of_texts,
    text_within as text_within,
    tokenize as tokenize,
    tokens_of_text as tokens_of_text,
)
from .segment_marks import (
    ENDS as ENDS,
    STARTS as STARTS,
    Segments as Segments,
    mark_table as mark_table,
    remarked as remarked,
    run_table as run_table,
    runs_of as runs_of,
    segments_of as segments_of,
)
from .states import declared_states as declared_states, learn_states as learn_states, variable_states as variable_states
from .tagged_output import (
    TaggedOutput as TaggedOutput,
    repeated as repeated,
    tagged as tagged,
    with_gold_kept as with_gold_kept,
    with_predictions_apart as with_predictions_apart,
)
from .weighted_bags import joined_bags as joined_bags
