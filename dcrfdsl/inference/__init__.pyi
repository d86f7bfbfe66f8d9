from .base import (
    Decoded as Decoded,
    Expectations as Expectations,
    IterativeMethod as IterativeMethod,
    MarginalInference as MarginalInference,
    SequenceMethod as SequenceMethod,
    StatelessMethod as StatelessMethod,
    iterative_methods as iterative_methods,
)
from .bound.automaton_runs import fastest_automaton as fastest_automaton
from .bound.binding import (
    Binder as Binder,
    BoundData as BoundData,
    repeated_data as repeated_data,
)
from .bound.chain_runs import (
    ChainRuns as ChainRuns,
    LinkedChains as LinkedChains,
    chain_of as chain_of,
    competing_chains as competing_chains,
    linked_chains as linked_chains,
)
from .decoding.bounded_decoding import (
    BoundedLabelling as BoundedLabelling,
    SearchLimits as SearchLimits,
    bounded_decoding as bounded_decoding,
    bounded_labelling as bounded_labelling,
)
from .decoding.constrained_decoding import (
    ConstrainedDecoder as ConstrainedDecoder,
    ConstrainedLabellings as ConstrainedLabellings,
    StateConstraints as StateConstraints,
)
from .decoding.fscore_decoding import (
    SegmentReading as SegmentReading,
    SegmentSearch as SegmentSearch,
    posterior_chain as posterior_chain,
    refuse_fscore as refuse_fscore,
)
from .decoding.labellings import (
    Ballots as Ballots,
    Labellings as Labellings,
    NBest as NBest,
    Samples as Samples,
    arenas as arenas,
    best_labellings as best_labellings,
    check_samples_fit as check_samples_fit,
    draw_samples as draw_samples,
    largest_table as largest_table,
    latents_first_fits as latents_first_fits,
    nbest_summing_latents as nbest_summing_latents,
    parts_by_width as parts_by_width,
    ranked_candidates as ranked_candidates,
)
from .decoding.local_decoding import (
    LocalDecoder as LocalDecoder,
    is_large_piece as is_large_piece,
    local_pieces as local_pieces,
    resolve_decode_rule as resolve_decode_rule,
)
from .decoding.once_decoding import OnceDecoder as OnceDecoder
from .methods.exact_method import (
    ExactMethod as ExactMethod,
    LabelLogMarginals as LabelLogMarginals,
    ProgramCompetitors as ProgramCompetitors,
)
from .methods.method_table import (
    METHODS as METHODS,
    MORE_MEMORY as MORE_MEMORY,
    check_width as check_width,
    choose_method as choose_method,
    estimate_words as estimate_words,
)
from .methods.per_sentence_method import (
    Part as Part,
    PerSentenceMethod as PerSentenceMethod,
    elimination_costs as elimination_costs,
    exact_pays_on as exact_pays_on,
)
from .methods.pruned_method import PrunedMethod as PrunedMethod
from .methods.wrapped_methods import MaximumMethod as MaximumMethod, weighted as weighted
from .own_methods import InferenceMethod as InferenceMethod
from .piece_methods import (
    PieceInstanceMethod as PieceInstanceMethod,
    PieceMethod as PieceMethod,
    SharedPieceMethod as SharedPieceMethod,
    are_shared as are_shared,
    bind_instances as bind_instances,
    instance_importance as instance_importance,
    most_cases as most_cases,
    no_cases as no_cases,
)
from .run import (
    pruning_loss as pruning_loss,
    run_decoding as run_decoding,
    run_inference as run_inference,
    score_sequences as score_sequences,
)
from .run_status import (
    MOST_PLACES as MOST_PLACES,
    GraphResult as GraphResult,
    PruningReport as PruningReport,
    RunStatus as RunStatus,
    contradiction_message as contradiction_message,
)
from .sequence_graphs import (
    BIAS as BIAS,
    CliqueMarginal as CliqueMarginal,
    ScoreTerm as ScoreTerm,
    assignment_marginals as assignment_marginals,
    clique_marginals as clique_marginals,
    differing_terms as differing_terms,
    graph_without as graph_without,
    sequence_graph as sequence_graph,
)
from .single_graph import infer_graph as infer_graph
from .stage_guides import GuideLists as GuideLists, StageGuide as StageGuide, stage_guide as stage_guide
from .workers import Workers as Workers, even_runs as even_runs
