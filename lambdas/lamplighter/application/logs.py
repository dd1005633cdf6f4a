"""Structured logs for every function: one JSON line a fact, never a secret and never a whole event."""

from functools import cache

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging import utils


@cache
def logger() -> Logger:
    """The function's logger; what the adapters log through the standard library looks the same."""
    made = Logger()
    utils.copy_config_to_registered_loggers(source_logger=made, include={"lamplighter", "handlers"})
    return made
