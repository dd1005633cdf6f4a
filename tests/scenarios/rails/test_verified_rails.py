"""`lamplighter verify` in a lab with the real Karpenter: both rails pass, each one taken out fails, nothing is left."""

import json
import signal
from collections.abc import Iterator

import pytest

from lamplighter.domain.capacity.node_pool.roles import launching_role
from tests.account_recording.administrator import administrator
from tests.karpenter_program import controller_or_skip
from tests.scenarios.deployed_lab import deployed_lab
from tests.scenarios.karpenter_day import KarpenterDay
from tests.scenarios.lab_day import Said
from tests.scenarios.rails import ways
from tests.scenarios.verification.test_verify import JOURNAL, VerifiedLab
from tests.steady.hang import HANG_SECONDS

pytestmark = pytest.mark.long

LAB = """
name: demo
time_zone: UTC
cluster: {karpenter: {version: 1.14.3}}
guard: {longest_lease: 1h, budget: {amount: "500"}}
pools:
  gpu: {kind: karpenter, drain: 1m, max_nodes: 2}
"""
#: A real second is so many of the lab's.
RATE = 8
STEP = "rails"


class RailedLab(VerifiedLab, KarpenterDay):
    """The lab, whose failsafe may have left a lock."""

    def verify(self, *words: str) -> Said:
        lines: list[str] = []
        with self._begun("--json", "report.json", *words) as program:
            assert program.stderr is not None
            for line in program.stderr:
                lines.append(line)
                self.hear(line)
            stdout, _ = program.communicate(timeout=HANG_SECONDS)
        return Said(program.returncode, stdout, "".join(lines))

    def hear(self, line: str) -> None:
        """Nothing happens while a step waits for the end of its lease: that takes a moment."""
        self.clock.hurry("functions may not run" in line)

    def left(self) -> list[str]:
        role = launching_role(self.lab, "gpu")
        assert role is not None
        policies = self.api("iam").list_role_policies(RoleName=role)["PolicyNames"]
        return [*super().left(), *(name for name in policies if name.startswith("lamplighter-lock-"))]

    def evidence(self) -> str:
        document = json.loads((self.folder / "report.json").read_text("utf-8"))
        return str(document["steps"][0]["evidence"])


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RailedLab]:
    controller_or_skip()
    with deployed_lab(tmp_path_factory, LAB, rate=RATE) as cloud:
        day = RailedLab(cloud)
        day.folder, day.owner = tmp_path_factory.mktemp("verify"), administrator(cloud.aws)
        yield day


def test_each_rail_ends_a_node_and_the_pool_opens_after_both(day: RailedLab) -> None:
    said = day.verify("--steps", f"unleased,{STEP}")

    assert said.code == 0, said
    assert day.verdicts() == {"unleased": "not-tried", STEP: "passed"}, said
    assert day.left() == []


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ("eks:*", "the rail kubernetes failed in its step Cluster, so EC2 ended the node instead"),
        ("ec2:TerminateInstances", "the rail ec2 ended as failed"),
        ("iam:PutRolePolicy", "after the rail ec2 Karpenter's role has no lock"),
    ],
)
def test_a_rail_that_is_taken_out_fails_the_step(day: RailedLab, action: str, why: str) -> None:
    with ways.denied_to(day, "failsafe-machine", action):
        said = day.verify("--steps", STEP)

    assert said.code == 1, said
    assert day.verdicts() == {STEP: "failed"}
    assert why in day.evidence()
    assert day.left() == []


def test_a_killed_run_that_had_locked_is_resumed_and_leaves_nothing(day: RailedLab) -> None:
    assert day.stopped(STEP, "the rail ec2 alone", signal.SIGKILL) == -signal.SIGKILL
    assert {JOURNAL, "lamplighter-lock-demo-gpu"} < {*day.left()}

    said = day.verify("--steps", "zones", "--resume")

    assert said.code == 0, said
    assert day.left() == []
