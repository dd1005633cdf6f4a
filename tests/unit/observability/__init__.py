"""Logs and metrics: what people can ask of them afterwards."""
