"""Slack's side of a lab, as values: requests, answers, messages, threads and offers."""
