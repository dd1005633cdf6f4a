"""The doctor's lines and checks in English, as a person reads them."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from lamplighter.domain.doctor import account as account_checks
from lamplighter.domain.doctor import cluster as cluster_checks
from lamplighter.domain.doctor import deployed_lab as lab_checks
from lamplighter.domain.doctor import instance_capacity as capacity_checks
from lamplighter.domain.doctor import pools as pool_checks
from lamplighter.domain.doctor.line import Judgement, LineOutcome
from tests.drawn import drawn


@dataclass(frozen=True)
class ToldLine:
    """One line of the doctor, in English."""

    check: str
    outcome: LineOutcome
    said: str
    advice: str


class InEnglish:
    """The checks of one module, with their reasons in English."""

    def __init__(self, checks: ModuleType) -> None:
        self._checks = checks

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._checks, name)
        if not callable(found) or isinstance(found, type):
            return found

        def judged(*given: Any) -> Iterator[Judgement]:
            return (drawn(each) for each in found(*given))

        return judged


account, cluster, deployed_lab, instance_capacity, pools = map(
    InEnglish, (account_checks, cluster_checks, lab_checks, capacity_checks, pool_checks)
)
