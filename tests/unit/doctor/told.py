"""What the doctor says, as a person reads it in English: its lines, and the checks one by one."""

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
    """A line of the doctor's answer."""

    check: str
    outcome: LineOutcome
    said: str
    advice: str


class InEnglish:
    """The checks of one module; what they judge is drawn."""

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
