"""Hand-made breakages of the product, one mechanism each, and the proof that the laws' test sees them.

`make mutations` makes each in a copy of the sources, lets histories play until a law is broken, and writes
docs/explanation/mutations.md.
"""
