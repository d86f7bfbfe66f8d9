from .expectations import (
    exact_decode as exact_decode,
    exact_expectations as exact_expectations,
    exact_log_expectations as exact_log_expectations,
    message_decode as message_decode,
    message_expectations as message_expectations,
    message_log_expectations as message_log_expectations,
    score_labellings as score_labellings,
)
from .feature_counts import (
    ChainCells as ChainCells,
    PairTable as PairTable,
    add_known as add_known,
    chain_pairs as chain_pairs,
    collect_pairs as collect_pairs,
    exact_pairs as exact_pairs,
    known_scores as known_scores,
    sum_groups as sum_groups,
)
from .nbest import (
    Latents as Latents,
    NBestLists as NBestLists,
    exact_better as exact_better,
    exact_nbest as exact_nbest,
    message_nbest as message_nbest,
)
from .span_competitors import (
    WHOLE as WHOLE,
    ErrorSums as ErrorSums,
    JudgedLabels as JudgedLabels,
    LabelledSpans as LabelledSpans,
    WrongStates as WrongStates,
    exact_competitors as exact_competitors,
    exact_decode_wrong as exact_decode_wrong,
)
