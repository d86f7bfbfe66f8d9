from .objective import (
    BoostingRound as BoostingRound,
    Iteration as Iteration,
    Outcome as Outcome,
    SeparableObjective as SeparableObjective,
    Watch as Watch,
)
from .optimizer_table import OPTIMIZERS as OPTIMIZERS
from .separable import minimise_apart as minimise_apart
from .special.temperature import best_temperature as best_temperature
from .voters import Voters as Voters
