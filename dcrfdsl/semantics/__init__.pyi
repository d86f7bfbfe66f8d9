from .checks.checker import check as check, check_or_raise as check_or_raise
from .checks.context import every_feature as every_feature, every_node as every_node
from .checks.data_formats import FORMATS as FORMATS
from .checks.data_rules import (
    read_columns as read_columns,
    spare_columns as spare_columns,
    unread_columns as unread_columns,
)
from .checks.training_rules import METRICS as METRICS, fits_metric as fits_metric, metric_usages as metric_usages
from .conditions.condition_tables import (
    BOOLEAN as BOOLEAN,
    ConditionReader as ConditionReader,
    HardTable as HardTable,
    Observed as Observed,
    ShareTable as ShareTable,
    Views as Views,
    constraint_sites as constraint_sites,
    constraint_table as constraint_table,
    index_gaps as index_gaps,
    is_of_sentence as is_of_sentence,
    is_word as is_word,
    share_bounds as share_bounds,
    share_table as share_table,
)
from .conditions.feature_groups import (
    DEEPEST as DEEPEST,
    MOST_FEATURES as MOST_FEATURES,
    without_windows as without_windows,
)
from .conditions.given_scores import (
    GivenScores as GivenScores,
    Reads as Reads,
    given_terms as given_terms,
    has_offset as has_offset,
    learns as learns,
)
from .conditions.implied_memories import (
    OnceConstraint as OnceConstraint,
    RunMemory as RunMemory,
    RunStates as RunStates,
    SegmentMemory as SegmentMemory,
    SegmentStates as SegmentStates,
    enforced_onces as enforced_onces,
    is_implied as is_implied,
    once_constraint as once_constraint,
    once_refusal as once_refusal,
    once_words as once_words,
    run_memories as run_memories,
    run_states as run_states,
    segment_memory as segment_memory,
    segment_states as segment_states,
    unrolled_spec as unrolled_spec,
)
from .conditions.label_diagrams import (
    ALL as ALL,
    NONE as NONE,
    Case as Case,
    LabelDiagrams as LabelDiagrams,
    state_bits as state_bits,
)
from .conditions.markov_structure import last_site as last_site, obstacles as obstacles, scope as scope
from .conditions.memories import memory_tables as memory_tables
from .reference.catalogue import (
    entries_named as entries_named,
    nearest_name as nearest_name,
    reference_entries as reference_entries,
    settings_named as settings_named,
)
from .reference.message_pages import EXPLANATIONS as EXPLANATIONS
from .reference.reference_entry import ReferenceEntry as ReferenceEntry, SettingEntry as SettingEntry
from .resolve.draft import Draft as Draft, Entry as Entry
from .resolve.fragments import event_problem as event_problem, read_event as read_event
from .resolve.resolution import Resolved as Resolved, load_template as load_template, load_text as load_text
from .resolve.specs_as_text import approve_stored as approve_stored, resolved_from_spec as resolved_from_spec
from .resolve.tuned_constants import tuned_ranges as tuned_ranges, with_constants as with_constants
from .schema.condition_tree import (
    Connectives as Connectives,
    children as children,
    conjuncts as conjuncts,
    fold as fold,
    nodes as nodes,
    place_offset as place_offset,
    place_text as place_text,
    rewritten as rewritten,
    shift_of_site as shift_of_site,
    terms as terms,
    value_if_nodes as value_if_nodes,
    with_children as with_children,
)
from .schema.function_signatures import (
    FUNCTIONS as FUNCTIONS,
    Bins as Bins,
    bin_names as bin_names,
    bind as bind,
    gives_number as gives_number,
    read_bins as read_bins,
    reads_window as reads_window,
)
from .schema.missing_values import (
    BETWEEN as BETWEEN,
    Reading as Reading,
    covered as covered,
    gap_of as gap_of,
    hidden_states as hidden_states,
    missing_mark as missing_mark,
    read_cell as read_cell,
    soft_parts as soft_parts,
    tests_gap as tests_gap,
    unmarked as unmarked,
)
from .schema.model_spec import (
    ModelSpec as ModelSpec,
    checked_node as checked_node,
    json_adapter as json_adapter,
    longest_segment as longest_segment,
    plain as plain,
    shortest_segment as shortest_segment,
    to_text as to_text,
    validated as validated,
)
from .schema.search_ranges import Candidates as Candidates, Interval as Interval, SearchRange as SearchRange
from .schema.segment_schemes import (
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
    scheme_states as scheme_states,
    segment_classes as segment_classes,
    split_mark as split_mark,
    split_state as split_state,
    state_text as state_text,
    unmarked_state as unmarked_state,
    violations as violations,
)
from .schema.spec_display import (
    message_blocks as message_blocks,
    template_blocks as template_blocks,
    template_listing as template_listing,
)
from .settings.decoding_settings import (
    DECODINGS as DECODINGS,
    BoundingDecoding as BoundingDecoding,
    FscoreDecoding as FscoreDecoding,
    read_decoding as read_decoding,
)
from .settings.implied_settings import (
    decode_rule as decode_rule,
    decoding as decoding,
    guiding_stage as guiding_stage,
    guiding_stages as guiding_stages,
    stage_inference as stage_inference,
    with_defaults as with_defaults,
)
from .settings.infer_settings import (
    INFERENCE as INFERENCE,
    AutoSettings as AutoSettings,
    BpSettings as BpSettings,
    EpSettings as EpSettings,
    ExactSettings as ExactSettings,
    GbpSettings as GbpSettings,
    GibbsSettings as GibbsSettings,
    MeanFieldSettings as MeanFieldSettings,
    PrunedSettings as PrunedSettings,
    TrpSettings as TrpSettings,
    TrwSettings as TrwSettings,
)
from .settings.loss_settings import (
    KERNELS as KERNELS,
    BalancedLoss as BalancedLoss,
    CostLoss as CostLoss,
    HammingLoss as HammingLoss,
    HmsvmSettings as HmsvmSettings,
    LabelLoss as LabelLoss,
    LinearKernel as LinearKernel,
    LogisticSmoothing as LogisticSmoothing,
    MceSettings as MceSettings,
    MeasureLoss as MeasureLoss,
    PolyKernel as PolyKernel,
    RbfKernel as RbfKernel,
    SegmentsLoss as SegmentsLoss,
    SequenceLoss as SequenceLoss,
    SumLoss as SumLoss,
    cost_parts as cost_parts,
    state_costs as state_costs,
)
from .settings.method_settings import (
    CriterionSettings as CriterionSettings,
    MethodSettings as MethodSettings,
    OptimizerSettings as OptimizerSettings,
)
from .settings.optimizer_settings import (
    AutoOptimizer as AutoOptimizer,
    BcfwSettings as BcfwSettings,
    CgSettings as CgSettings,
    DualSettings as DualSettings,
    GpdSettings as GpdSettings,
    IisSettings as IisSettings,
    LbfgsSettings as LbfgsSettings,
    OwlqnSettings as OwlqnSettings,
    ProximalSettings as ProximalSettings,
    QuickpropSettings as QuickpropSettings,
    SgdSettings as SgdSettings,
    StoppingSettings as StoppingSettings,
    WorkingSetSettings as WorkingSetSettings,
)
from .settings.piece_shorthands import (
    PIECES as PIECES,
    expanded as expanded,
    last_pieces as last_pieces,
    pieces_of as pieces_of,
    times_trained as times_trained,
)
from .settings.prior_settings import (
    ElasticNetPrior as ElasticNetPrior,
    GaussianPrior as GaussianPrior,
    GroupLassoPrior as GroupLassoPrior,
    LaplacePrior as LaplacePrior,
    LphiPrior as LphiPrior,
    NoPrior as NoPrior,
    Prior as Prior,
)
from .settings.settings_reading import (
    DEFAULT_STAGE as DEFAULT_STAGE,
    inference_settings as inference_settings,
    stage_chain as stage_chain,
    stage_settings as stage_settings,
    without_retired_settings as without_retired_settings,
)
from .settings.training_settings import (
    CRITERIA as CRITERIA,
    AdaboostSettings as AdaboostSettings,
    AllCases as AllCases,
    ExponentialSettings as ExponentialSettings,
    HmmSettings as HmmSettings,
    InduceSettings as InduceSettings,
    LikelihoodSettings as LikelihoodSettings,
    LikelyCases as LikelyCases,
    PerceptronSettings as PerceptronSettings,
    PieceSettings as PieceSettings,
    RescaleSettings as RescaleSettings,
    SampledCases as SampledCases,
    SentenceImportance as SentenceImportance,
    StateImportance as StateImportance,
    TokenImportance as TokenImportance,
    TrainSettings as TrainSettings,
    state_factors as state_factors,
)
