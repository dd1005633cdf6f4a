"""The model of a lab: what lab.yaml says, with defaults and units, one part of it a file.

It imports neither the domain nor any layer above it: a lab's model makes no decision. The domain reads it in one way:
the model (`model.py`) and the parts that its decisions take as arguments: channels, checks, gpu_settings, notice_kinds,
operator, pools, types and windows. How a lab file is written (names, keys and their schemas) stays with labfile.
Import contracts in pyproject.toml hold both.
"""
