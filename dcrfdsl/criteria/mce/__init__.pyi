from .mce_objective import build_mce as build_mce
