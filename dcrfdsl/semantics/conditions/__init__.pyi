from .condition_tables import (
    BOOLEAN as BOOLEAN,
    TRUE_STATE as TRUE_STATE,
    HardTable as HardTable,
    ShareTable as ShareTable,
    Sites as Sites,
    compile_regex as compile_regex,
    constraint_sites as constraint_sites,
    constraint_table as constraint_table,
    index_gaps as index_gaps,
    is_of_sentence as is_of_sentence,
    is_word as is_word,
    sentence_labels as sentence_labels,
    share_bounds as share_bounds,
    share_table as share_table,
    view_label as view_label,
)
from .feature_groups import (
    COUNT_LIMIT as COUNT_LIMIT,
    DEEPEST as DEEPEST,
    MOST_FEATURES as MOST_FEATURES,
    GroupTree as GroupTree,
    held_names as held_names,
)
from .given_scores import (
    OFFSET as OFFSET,
    factors_of as factors_of,
    given_terms as given_terms,
    has_offset as has_offset,
    is_offset as is_offset,
    learns as learns,
)
from .implied_memories import (
    bound_types as bound_types,
    enforced_onces as enforced_onces,
    once_refusal as once_refusal,
)
from .markov_structure import obstacles as obstacles
from .memories import (
    initial_state as initial_state,
    memory_sites as memory_sites,
    memory_tables as memory_tables,
    stray_state as stray_state,
)
