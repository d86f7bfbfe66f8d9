from .objective import (
    BoostingProblem as BoostingProblem,
    BoostingRound as BoostingRound,
    Iteration as Iteration,
    MarginProblem as MarginProblem,
    Objective as Objective,
    Outcome as Outcome,
    PerceptronSchedule as PerceptronSchedule,
    Watch as Watch,
)
from .optimizer_table import OPTIMIZERS as OPTIMIZERS, ignores_start as ignores_start
from .run_state import (
    NotNow as NotNow,
    RunState as RunState,
    outcome_from as outcome_from,
    outcome_state as outcome_state,
)
from .separable import minimise_parts as minimise_parts
from .special.temperature import best_temperature as best_temperature
from .voters import Voters as Voters
