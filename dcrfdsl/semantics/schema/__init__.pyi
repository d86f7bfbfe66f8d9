from .condition_tree import (
    children as children,
    conjuncts as conjuncts,
    nodes as nodes,
    place_offset as place_offset,
    place_text as place_text,
    reference_names as reference_names,
    shift_of_site as shift_of_site,
    term_places as term_places,
    terms as terms,
    value_if_nodes as value_if_nodes,
    with_children as with_children,
)
from .function_signatures import (
    FUNCTIONS as FUNCTIONS,
    BinProblem as BinProblem,
    FunctionSignature as FunctionSignature,
    bind as bind,
    gives_number as gives_number,
    read_bins as read_bins,
    reads_window as reads_window,
)
from .label_sources import covered as covered, unmarked as unmarked
from .missing_values import (
    BETWEEN as BETWEEN,
    MISSING as MISSING,
    gap_of as gap_of,
    missing_mark as missing_mark,
    read_cell as read_cell,
    tests_gap as tests_gap,
)
from .model_spec import (
    ModelSpec as ModelSpec,
    checked_node as checked_node,
    json_adapter as json_adapter,
    longest_segment as longest_segment,
    plain as plain,
    shortest_segment as shortest_segment,
    to_text as to_text,
    validated as validated,
    whole_number as whole_number,
)
from .search_ranges import (
    RANGES as RANGES,
    Candidates as Candidates,
    Interval as Interval,
    SearchRange as SearchRange,
    as_call as as_call,
    read_range as read_range,
)
from .segment_schemes import (
    LENGTH as LENGTH,
    OUTSIDE as OUTSIDE,
    SCHEMES as SCHEMES,
    SEGMENT_FUNCTIONS as SEGMENT_FUNCTIONS,
    WITH_ENDS as WITH_ENDS,
    SegmentClass as SegmentClass,
    bare_marks as bare_marks,
    has_segments as has_segments,
    learn_types as learn_types,
    legal_moves as legal_moves,
    listed_states as listed_states,
    scheme_states as scheme_states,
    segment_classes as segment_classes,
    split_mark as split_mark,
    split_state as split_state,
    state_text as state_text,
    unmarked_state as unmarked_state,
)
from .spec_display import template_html as template_html
