from .piece_losses import (
    ALL as ALL,
    LISTED as LISTED,
    MOST_SITES as MOST_SITES,
    NONE as NONE,
    ONE as ONE,
    SAMPLED as SAMPLED,
    Cases as Cases,
    PieceInstances as PieceInstances,
    TablePlaces as TablePlaces,
    likely_cases as likely_cases,
    piece_expectations as piece_expectations,
    piece_tables as piece_tables,
)
