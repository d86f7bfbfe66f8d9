from .exact_method import ExactMethod as ExactMethod
from .message_method import MessageMethod as MessageMethod
from .method_table import METHODS as METHODS
from .mixed import Part as Part, parts_by_cost as parts_by_cost
from .single_graph import infer_graph as infer_graph
