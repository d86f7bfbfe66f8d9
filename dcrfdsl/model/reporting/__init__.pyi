from .charts import (
    charts_file as charts_file,
    largest_states as largest_states,
    reliability_chart as reliability_chart,
)
from .compared_models import (
    ComparedCases as ComparedCases,
    ComparedErrors as ComparedErrors,
    ComparedScore as ComparedScore,
    Comparison as Comparison,
    ErrorDifference as ErrorDifference,
    comparison_tables as comparison_tables,
)
from .findings import (
    DrawnSentence as DrawnSentence,
    Findings as Findings,
    Sampling as Sampling,
    StrongWeights as StrongWeights,
    TransitionWeights as TransitionWeights,
)
from .model_sections import (
    setting_words as setting_words,
    training_blocks as training_blocks,
    transition_blocks as transition_blocks,
)
from .page_writer import require_jinja as require_jinja, write_report as write_report
from .unrolled_sentences import Told as Told, sentence_graph as sentence_graph
from .wrong_labels import (
    ErrorList as ErrorList,
    Term as Term,
    Why as Why,
    error_list as error_list,
)
