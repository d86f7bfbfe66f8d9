from .boosting_risk import Boosting as Boosting, build_boosting as build_boosting
from .exponential import Exponential as Exponential, build_exponential as build_exponential
from .marginal_risk import build_marginal as build_marginal
from .risk import Risk as Risk
