from .automaton_sums import automaton_expectations as automaton_expectations
from .best_paths import automaton_decode as automaton_decode
from .lane_scores import list_rows as list_rows
from .log_sums import automaton_log_expectations as automaton_log_expectations, log_cells as log_cells
from .orders import automaton_of as automaton_of
from .transitions import (
    REGISTERS as REGISTERS,
    Automaton as Automaton,
    AutomatonSums as AutomatonSums,
    AutomatonTables as AutomatonTables,
    AutomatonTotals as AutomatonTotals,
    AutomatonWorkspace as AutomatonWorkspace,
    LinearTables as LinearTables,
    linear_tables as linear_tables,
    sums_of_automaton as sums_of_automaton,
    workspace_of_automaton as workspace_of_automaton,
)
