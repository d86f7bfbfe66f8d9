from .margin_objective import Hmsvm as Hmsvm, build_hmsvm as build_hmsvm
