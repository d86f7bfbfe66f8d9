from .expectation_propagation import forest_expectations as forest_expectations
from .feasible_search import (
    largest_sequence as largest_sequence,
    message_labelling as message_labelling,
    round_marginals as round_marginals,
)
from .gibbs_sampling import Sampling as Sampling, gibbs_sequences as gibbs_sequences
from .mean_field_ascent import mean_field_expectations as mean_field_expectations
from .propagation import (
    COVER as COVER,
    FLOOD as FLOOD,
    RANDOM as RANDOM,
    RESIDUAL as RESIDUAL,
    TREES as TREES,
    first_trees as first_trees,
    propagate as propagate,
)
from .region_messages import region_expectations as region_expectations
from .score_bounds import (
    DualGraph as DualGraph,
    ascend_dual as ascend_dual,
    prune_states as prune_states,
    state_bounds as state_bounds,
)
from .sum_product import (
    LEAST_RECALLED as LEAST_RECALLED,
    add_up as add_up,
    node_potentials as node_potentials,
    read_beliefs as read_beliefs,
    read_labelling as read_labelling,
    recall as recall,
    record_run as record_run,
    remember as remember,
    score_labelling as score_labelling,
)
from .trw import Forests as Forests, reweighted_expectations as reweighted_expectations
