"""The rule about Karpenter's faults, and the breach of nodes that their controller has not ended."""

from dataclasses import replace

from lamplighter.domain.guard.breach import GuardAction, Rule
from lamplighter.domain.guard.guard import sweep
from lamplighter.domain.guard.node_pools.controllers import not_ended
from lamplighter.reasons.reason import in_english, reason
from tests.builders.guard_facts import lease, pool

ABSENT = reason("guard.karpenter.absent")
QUEUE = reason("guard.karpenter.queue", queue="lab-karpenter")


def test_each_fault_is_said_by_itself_and_a_lease_goes_on() -> None:
    breaches = sweep(replace(pool(lease(), running=["i-1", "i-2"]), controller_faults=(ABSENT, QUEUE)))

    assert [(found.rule, found.action, found.reason, found.subject) for found in breaches] == [
        (Rule.KARPENTER_NOT_READY, GuardAction.SAY, ABSENT, "guard.karpenter.absent"),
        (Rule.KARPENTER_NOT_READY, GuardAction.SAY, QUEUE, "guard.karpenter.queue"),
    ]


def test_a_watched_pool_is_told_the_same() -> None:
    [breach] = sweep(replace(pool(), enforcing=False, controller_faults=(ABSENT,)))
    assert (breach.action, breach.reason) == (GuardAction.SAY, ABSENT)


def test_of_auto_mode_it_says_that_nobody_else_may_end_them() -> None:
    breach = not_ended("gpu", ["i-2", "i-1"], None, "cli-1", by_ec2=False)

    assert (breach.lease, breach.instances, breach.subject) == ("cli-1", ("i-1", "i-2"), "i-1,i-2")
    assert in_english(breach.reason) == (
        "EKS Auto Mode has not ended i-1 and i-2 of pool gpu, and AWS lets nobody else do that; the guard leaves their"
        " pods no more time"
    )


def test_where_nobody_can_tell_how_karpenter_is_it_is_told_as_one_that_does_not_obey() -> None:
    breach = not_ended("gpu", ["i-1"], None, None, by_ec2=True)
    assert in_english(breach.reason).startswith(
        "Karpenter has not ended what it was told to end; the guard ends"
    )
