"""CloudFormation, with custom resources and rollbacks."""
