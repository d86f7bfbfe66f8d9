from .condition_tree import (
    Node as Node,
    children as children,
    conjuncts as conjuncts,
    nodes as nodes,
    reference_names as reference_names,
    term_places as term_places,
    terms as terms,
    value_if_nodes as value_if_nodes,
    with_children as with_children,
)
from .domains import (
    Cardinality as Cardinality,
    Domain as Domain,
    Enumerated as Enumerated,
    Learned as Learned,
    Scheme as Scheme,
    StateFile as StateFile,
    StatesOf as StatesOf,
)
from .expressions import (
    And as And,
    Apply as Apply,
    Argument as Argument,
    At as At,
    Compares as Compares,
    Condition as Condition,
    Cross as Cross,
    Difference as Difference,
    Equals as Equals,
    Feature as Feature,
    Frozen as Frozen,
    Has as Has,
    Here as Here,
    InLexicon as InLexicon,
    InSet as InSet,
    Is as Is,
    Matches as Matches,
    Named as Named,
    Not as Not,
    Number as Number,
    Or as Or,
    Place as Place,
    Quantity as Quantity,
    Range as Range,
    Reference as Reference,
    Regex as Regex,
    Several as Several,
    Text as Text,
    Value as Value,
    ValueIf as ValueIf,
    Window as Window,
)
from .function_signatures import FUNCTIONS as FUNCTIONS, FunctionSignature as FunctionSignature, bind as bind
from .label_cells import read_cell as read_cell
from .located_spec import LocatedSpec as LocatedSpec
from .method_calls import as_call as as_call
from .missing_numbers import MISSING as MISSING, gap_of as gap_of, missing_mark as missing_mark, tests_gap as tests_gap
from .model_spec import (
    NUMERIC as NUMERIC,
    CallSpec as CallSpec,
    CliqueSpec as CliqueSpec,
    Column as Column,
    ColumnType as ColumnType,
    Constraint as Constraint,
    DataSpec as DataSpec,
    FeatureGroup as FeatureGroup,
    Label as Label,
    Latent as Latent,
    Let as Let,
    Lexicon as Lexicon,
    Member as Member,
    Memory as Memory,
    ModelSpec as ModelSpec,
    Once as Once,
    Piece as Piece,
    Setting as Setting,
    Site as Site,
    Stage as Stage,
    View as View,
    plain as plain,
)
from .number_bins import BinProblem as BinProblem, read_bins as read_bins
from .places import place_offset as place_offset, place_text as place_text, shift_of_site as shift_of_site
from .search_ranges import (
    RANGES as RANGES,
    Candidates as Candidates,
    Interval as Interval,
    SearchRange as SearchRange,
    read_range as read_range,
)
from .segment_options import (
    LENGTH as LENGTH,
    SEGMENT_FUNCTIONS as SEGMENT_FUNCTIONS,
    SegmentClass as SegmentClass,
    longest_segment as longest_segment,
    segment_classes as segment_classes,
)
from .segment_schemes import (
    OUTSIDE as OUTSIDE,
    SCHEMES as SCHEMES,
    WITH_ENDS as WITH_ENDS,
    bare_marks as bare_marks,
    has_segments as has_segments,
    learn_types as learn_types,
    legal_moves as legal_moves,
    scheme_states as scheme_states,
    split_mark as split_mark,
    split_state as split_state,
    state_text as state_text,
    unmarked_state as unmarked_state,
)
from .source_spans import Path as Path, RecordedSpans as RecordedSpans, SpanTable as SpanTable
from .spec_display import checked_html as checked_html
from .stage_order import stage_cycle as stage_cycle, unknown_stage as unknown_stage
from .statement_options import (
    CLIQUE_OPTIONS as CLIQUE_OPTIONS,
    GROUP_OPTIONS as GROUP_OPTIONS,
    LABEL_OPTIONS as LABEL_OPTIONS,
    LEXICON_OPTIONS as LEXICON_OPTIONS,
    NO_OPTIONS as NO_OPTIONS,
    SEGMENT_LIMIT as SEGMENT_LIMIT,
    SEGMENT_OPTIONS as SEGMENT_OPTIONS,
    OptionReader as OptionReader,
    check_constants as check_constants,
    read_options as read_options,
    shown as shown,
)
from .unparse import to_text as to_text, value_text as value_text
from .unparsed_terms import SYNTAX as SYNTAX
