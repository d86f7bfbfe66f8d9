from .drawing import (
    FORMATS as FORMATS,
    FactorMark as FactorMark,
    GraphDrawing as GraphDrawing,
    PieceMark as PieceMark,
    VariableMark as VariableMark,
)
from .sentence_graph import sentence_graph as sentence_graph
