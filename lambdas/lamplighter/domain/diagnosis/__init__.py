"""From a snapshot of a GPU pool to the causes of what is wrong, root first: pure, and one rule a cause.

`diagnose` is the whole interface; one file a layer: launch, nodes, gpus, pods, network.
"""

from lamplighter.domain.diagnosis.diagnose import diagnose
from lamplighter.domain.diagnosis.findings import Diagnosis, DiagnosisFinding, InProgress
from lamplighter.domain.diagnosis.snapshot import Snapshot

__all__ = ["Diagnosis", "DiagnosisFinding", "InProgress", "Snapshot", "diagnose"]
