from .objective import (
    BoostingProblem as BoostingProblem,
    BoostingRound as BoostingRound,
    Iteration as Iteration,
    MarginProblem as MarginProblem,
    MistakePasses as MistakePasses,
    Objective as Objective,
    Outcome as Outcome,
    Watch as Watch,
)
from .optimizer_table import OPTIMIZERS as OPTIMIZERS
from .separable import minimise_apart as minimise_apart
from .special.temperature import best_temperature as best_temperature
from .voters import Voters as Voters
