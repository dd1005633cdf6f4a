"""The port to a pool's nodes: what every kind of capacity gives and does, as values and one Protocol.

port.py has the seven operations, evidence.py what they show. Each kind has a folder for its pure part; only kinds.py
chooses one.
"""
