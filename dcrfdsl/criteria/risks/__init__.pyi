from .boosting_risk import build_boosting as build_boosting
from .exponential import build_exponential as build_exponential
from .marginal_risk import build_marginal as build_marginal
