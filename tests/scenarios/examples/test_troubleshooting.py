"""Document 004, the default lab: both GPU nodes are opened, proven and closed."""

import pytest

from tests.scenarios.examples.opened import EXAMPLES, deployed, open_prove_and_close

pytestmark = pytest.mark.long


def test_the_lab_of_the_troubleshooting_document_opens_is_proven_and_closes() -> None:
    with deployed(EXAMPLES / "004-troubleshooting.yaml") as lab:
        passed = open_prove_and_close(lab, nodes=2)

    assert passed >= {"allocatable", "nvidia-smi", "vectoradd"}
