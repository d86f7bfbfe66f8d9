from .corners import Corners as Corners, WeightGroups as WeightGroups
from .derived_objectives import KeptWeights as KeptWeights, largest_weights as largest_weights
from .dual_problem import concatenate_cuts as concatenate_cuts
from .objective import (
    BoostingProblem as BoostingProblem,
    BoostingRound as BoostingRound,
    Iteration as Iteration,
    MarginProblem as MarginProblem,
    Objective as Objective,
    Outcome as Outcome,
    PartedPasses as PartedPasses,
    PassOfPart as PassOfPart,
    PerceptronSchedule as PerceptronSchedule,
    Watch as Watch,
)
from .optimizer_table import OPTIMIZERS as OPTIMIZERS, ignores_start as ignores_start
from .perceptron_steps import perceptron_pass as perceptron_pass
from .progress import norm_of as norm_of
from .run_state import (
    NotNow as NotNow,
    RunState as RunState,
    outcome_from as outcome_from,
    outcome_state as outcome_state,
)
from .separable import minimise_parts as minimise_parts
from .stored_pairs import keep_halves_from as keep_halves_from, pair_bytes as pair_bytes, pairs_kept as pairs_kept
from .voters import Voters as Voters
from .weight_units import UnitBlock as UnitBlock, WeightUnits as WeightUnits
