"""Judges the output of GPU tools: passed, failed or not proven."""
