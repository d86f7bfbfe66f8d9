from .data_costs import print_costs as print_costs
from .lsp_server import serve as serve
