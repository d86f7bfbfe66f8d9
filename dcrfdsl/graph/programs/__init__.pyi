from .contraction_programs import (
    ContractionProgram as ContractionProgram,
    PatternBank as PatternBank,
    Turned as Turned,
)
from .elimination import (
    OrderCost as OrderCost,
    best_order as best_order,
    forest_order as forest_order,
    least_table as least_table,
    order_cost as order_cost,
    slice_order as slice_order,
)
from .periods import Program as Program, ProgramBuilder as ProgramBuilder
from .product_places import ProductPlace as ProductPlace
from .sequence_blocks import Blocks as Blocks, cut_blocks as cut_blocks
