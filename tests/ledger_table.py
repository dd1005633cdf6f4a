"""The ledger's table, as the template makes it, for tests that keep one in memory."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import boto3

from lamplighter.adapters.aws.ledger import items

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from lamplighter.adapters.aws.ledger.ledger import Ledger
    from lamplighter.domain.checks.gpu_proof import GpuProof
    from lamplighter.domain.leases.lease import Lease


def create(dynamodb: "DynamoDBClient", name: str) -> None:
    """An empty one."""
    dynamodb.create_table(
        TableName=name,
        KeySchema=[
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
        ],
        BillingMode="PAY_PER_REQUEST",
    )


def kept(partition: str, sort_key: str) -> dict[str, Any]:
    """What the table `ledger` keeps there; empty where it keeps nothing."""
    key = {"pk": {"S": partition}, "sk": {"S": sort_key}}
    return items.values(boto3.client("dynamodb").get_item(TableName="ledger", Key=key).get("Item") or {})


def keep_verdicts(ledger: "Ledger", lease: "Lease", rows: Sequence[Mapping[str, object]]) -> None:
    """What the checks said of a lease's nodes, as Validate and Announce keep it."""
    ledger.keep_rows(lease.pool, lease.id, lease.opens, rows)
    ledger.keep_verdicts(lease, lease.opens)


def keep_proof(ledger: "Ledger", proof: "GpuProof") -> None:
    """A proof with its rows, as Validate and Announce keep it."""
    ledger.keep_rows(proof.pool, proof.lease, proof.at, proof.rows)
    ledger.keep_proof(proof)
