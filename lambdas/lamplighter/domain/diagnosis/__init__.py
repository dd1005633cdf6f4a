"""Finds why a GPU pool does not work, from a snapshot: the causes, root first. Pure, with one rule a cause.

`diagnose` is the whole interface. The rules are in rules/, and causes.py says how to add a cause.
"""

from lamplighter.domain.diagnosis.diagnose import diagnose
from lamplighter.domain.diagnosis.findings import Diagnosis, DiagnosisFinding, InProgress
from lamplighter.domain.diagnosis.snapshot import Snapshot

__all__ = ["Diagnosis", "DiagnosisFinding", "InProgress", "Snapshot", "diagnose"]
