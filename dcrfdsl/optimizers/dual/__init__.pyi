from .bcfw import minimise_bcfw as minimise_bcfw
from .working_set import minimise_working_set as minimise_working_set
