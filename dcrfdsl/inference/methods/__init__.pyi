from .exact_method import ExactMethod as ExactMethod
from .gibbs_method import no_log_z_error as no_log_z_error
from .message_method import MessageMethod as MessageMethod
from .method_table import METHODS as METHODS, MethodEntry as MethodEntry, choose_method as choose_method
from .per_sentence_method import Part as Part, parts_by_cost as parts_by_cost
from .pruned_method import PrunedMethod as PrunedMethod
