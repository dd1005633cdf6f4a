"""Lambda's quota of concurrent executions of an account in a region."""

CONCURRENCY = "L-B99A9384"
"""Service Quotas' code for Lambda's "Concurrent executions"; the same in every region."""
NEW_ACCOUNT = 10
"""The quota of a new account, until AWS raises it with use or on request. It cannot be reserved for one function.

Sources: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html, and what accounts report:
aws-samples/one-observability-demo#278, awslabs/fhir-works-on-aws-deployment#691.
"""
UNRESERVED = 100
"""How many of the quota stay for functions without a reservation; of a smaller quota, all."""
EVERY_ACCOUNT = 1000
"""The quota after AWS has raised it, and its default: Service Quotas takes no request for less."""
