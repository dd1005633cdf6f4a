"""What a function may write and show while one of its calls fails: the judgement of tests/world/fault_answers.py."""

from collections.abc import Iterator, Sequence

from tests.world.faults import DISTORTIONS, STATUSES, Fault

NOTES_IT = frozenset({"dynamodb.delete_item", "dynamodb.put_item", "dynamodb.update_item"})
"""The board writes with these that a message was sent. Where it cannot, it is sent again."""
MOST = 3
NOT_KNOWN = frozenset({"foreign 1", "foreign 2"})
"""OSError and ValueError: whoever posts does not know whether Slack has the message."""
DECLINED = frozenset(f"error {status}" for status in (200, *STATUSES) if status not in {429, 500, 503, 504})
"""A question's own address takes no answer: it has no other. The person asks again."""


def may_write(function: str, pk: str, sk: str) -> bool:
    """Whether an item of the ledger is of the function's own part."""
    match function:
        case "board":
            return pk.startswith("SLACK")
        case "slack":
            return pk.startswith(("SLACK", "LAB", "PERSON")) or sk.startswith(("COMMAND#", "AUDIT#"))
        case "doctor":
            return pk in {"POOL#*", "LAB"}
        case "planner":
            # It plans windows; a lease that runs stays as it is.
            return pk == "LAB" or sk.startswith(("LEASE#late-", "LEASE#course-", "COMMAND#", "AUDIT#"))
        case "deploy":
            # The planner runs in it, and says what it corrected. While a step waits, the guard sweeps.
            return pk == "LAB" or pk.startswith("DEPLOY#") or sk == "STATE" or sk.startswith("AUDIT#")
    return False


def differences(usual: Sequence[str], shown: Sequence[str], fault: Fault) -> Iterator[str]:
    """What is shown less often than without the fault, or more often than its outcome was unknown."""
    unknown = fault.kind in {"lost", "text", *DISTORTIONS} or fault.call in NOTES_IT
    # A calendar that could not be read is news, and that it can be read again.
    unknown = unknown or fault.call == "https.GET"
    refused = (fault.function, fault.call) == ("slack", "slack.response_url") and fault.kind in DECLINED
    for text in sorted({*usual, *shown}):
        least, most = usual.count(text), usual.count(text) * (MOST if unknown else 1)
        # A post whose time stamp is false is not found again, so it is not changed. A notice that the topic does not
        # take is handed to the function that tries again.
        if (fault.call == "slack.chat.postMessage" and fault.kind in DISTORTIONS) or (
            (fault.function, fault.call) == ("planner", "sns.publish")
        ):
            least = 0
        # An offer whose message may have come expires by itself.
        if fault.call == "slack.chat.postMessage" and fault.kind in NOT_KNOWN and "has room" in text:
            least = 0
        if not least <= shown.count(text) <= most and not refused:
            yield f"{shown.count(text)} times instead of {usual.count(text)}: {text[:200]}"
