"""Reads a lab file into the model, or reports every problem with its line. Functions read lab.json instead."""
