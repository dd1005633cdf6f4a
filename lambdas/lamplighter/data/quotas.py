"""Lambda's quota of functions that an account runs at once in a region."""

CONCURRENCY = "L-B99A9384"
"""Service Quotas' code for Lambda's "Concurrent executions"; the same in every region."""
NEW_ACCOUNT = 10
"""What a new account has until AWS raises it, with use or on request; none of it can be reserved for one function.

Sources: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html, and what accounts report:
aws-samples/one-observability-demo#278, awslabs/fhir-works-on-aws-deployment#691.
"""
EVERY_ACCOUNT = 1000
"""What AWS raises it to."""
