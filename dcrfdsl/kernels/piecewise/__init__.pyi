from .piece_losses import (
    ALL as ALL,
    LISTED as LISTED,
    NONE as NONE,
    ONE as ONE,
    SAMPLED as SAMPLED,
    Cases as Cases,
    TablePlaces as TablePlaces,
    likely_cases as likely_cases,
    piece_expectations as piece_expectations,
    piece_tables as piece_tables,
)
from .piece_scores import MOST_SITES as MOST_SITES, PieceInstances as PieceInstances
