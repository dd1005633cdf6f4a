"""Reasons as values: a code with typed parameters. The catalogue (data/texts.py) holds their words.

`reason` makes one, `draw` writes it in a language and by a clock, `document` keeps it as JSON.
"""
