"""The steps of `lamplighter verify`: what only an AWS account can answer, and how each step is undone."""
