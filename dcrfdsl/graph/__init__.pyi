from .automaton_graphs import AutomatonGraph as AutomatonGraph, automaton_graph as automaton_graph
from .drawing import (
    FORMATS as FORMATS,
    DrawingLayout as DrawingLayout,
    FactorMark as FactorMark,
    GraphDrawing as GraphDrawing,
    PieceMark as PieceMark,
    VariableMark as VariableMark,
    edge_knee as edge_knee,
    svg as svg,
)
from .elimination import (
    MOST_ENTRIES as MOST_ENTRIES,
    OrderCost as OrderCost,
    best_order as best_order,
    least_table as least_table,
    order_cost as order_cost,
)
from .factor_forests import bank_approximations as bank_approximations, bank_forests as bank_forests
from .factor_graph import FactorGraph as FactorGraph
from .known_labels import (
    UNKNOWN as UNKNOWN,
    Gold as Gold,
    fill_memories as fill_memories,
    instances_of as instances_of,
    known_assignments as known_assignments,
)
from .label_factors import (
    ANY_STATE as ANY_STATE,
    FREE as FREE,
    any_but as any_but,
    clamp_rows as clamp_rows,
    clamped_graph as clamped_graph,
    code_rows as code_rows,
    constrained_graph as constrained_graph,
    counting_graph as counting_graph,
    counting_parameters as counting_parameters,
    only_state as only_state,
    raised_rows as raised_rows,
    restricted_graph as restricted_graph,
    scored_graph as scored_graph,
    state_set as state_set,
    weighed_graph as weighed_graph,
    weighed_rows as weighed_rows,
)
from .large_piece_graphs import (
    PieceGraphs as PieceGraphs,
    RoleModel as RoleModel,
    piece_graphs as piece_graphs,
    role_model as role_model,
    roles_of as roles_of,
)
from .listed_cliques import clique_listing as clique_listing
from .margin_graphs import (
    SegmentMoves as SegmentMoves,
    graph_excluding_gold as graph_excluding_gold,
    known_label_rows as known_label_rows,
    segment_cost_graph as segment_cost_graph,
    segment_cost_rows as segment_cost_rows,
)
from .model_cost import (
    REMEMBERED_BYTES as REMEMBERED_BYTES,
    JoinedPairs as JoinedPairs,
    MessageCost as MessageCost,
    automaton_seconds as automaton_seconds,
    chain_decodes as chain_decodes,
    exact_pays as exact_pays,
    exact_seconds as exact_seconds,
    least_seconds as least_seconds,
    message_cost as message_cost,
    other_seconds as other_seconds,
    paying_automaton as paying_automaton,
    pays_beside_messages as pays_beside_messages,
    training_cost as training_cost,
)
from .parameters import (
    AddedWeights as AddedWeights,
    CliqueWeights as CliqueWeights,
    Parameters as Parameters,
    broken_instances as broken_instances,
    fixed_weights as fixed_weights,
    join_parameters as join_parameters,
    learn_parameters as learn_parameters,
    placed_counts as placed_counts,
    scaled_weights as scaled_weights,
)
from .piece_instances import (
    PieceTemplate as PieceTemplate,
    PieceUnrolling as PieceUnrolling,
    independent_pieces as independent_pieces,
    piece_arrays as piece_arrays,
    piece_templates as piece_templates,
    with_constraints_apart as with_constraints_apart,
)
from .regions import ClusterLimits as ClusterLimits, bank_regions as bank_regions
from .segment_factors import rows_of_lengths as rows_of_lengths, weighing_templates as weighing_templates
from .segment_shapes import (
    bounded_runs as bounded_runs,
    complete_sentences as complete_sentences,
    known_counts as known_counts,
    known_runs as known_runs,
    known_segments as known_segments,
    segment_instances as segment_instances,
    segment_shape as segment_shape,
)
from .shape_bank import ShapeBank as ShapeBank
from .shapes import GraphShape as GraphShape, Run as Run, offsets as offsets, offsets_of as offsets_of
from .templates import (
    LAST as LAST,
    CliqueTemplate as CliqueTemplate,
    Pattern as Pattern,
    assignment_states as assignment_states,
    constraint_templates as constraint_templates,
    hidden_tables as hidden_tables,
    variable_names as variable_names,
    views_seen as views_seen,
)
from .uai import read_uai as read_uai, read_uai_evidence as read_uai_evidence, uai_text as uai_text
from .unroll import ModelGraph as ModelGraph
