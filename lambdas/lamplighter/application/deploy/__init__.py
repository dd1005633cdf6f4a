"""The steps of a deploy that need to know the world: CloudFormation's custom resources."""
