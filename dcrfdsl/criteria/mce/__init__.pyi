from .mce_objective import Mce as Mce, build_mce as build_mce
