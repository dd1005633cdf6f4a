"""The demo's acts by the name that `--act` gives them."""

from collections.abc import Mapping

from local.demo.day import Day
from local.demo.karpenter import KarpenterAct
from local.demo.play import Play
from local.demo.trouble import Trouble

ACTS: Mapping[str, type[Play]] = {"day": Day, "trouble": Trouble, "karpenter": KarpenterAct}
