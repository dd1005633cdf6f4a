"""Deploy steps that read the account's real state: CloudFormation's custom resources."""
