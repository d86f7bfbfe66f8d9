from .margin_objective import build_hmsvm as build_hmsvm
