"""A pool's nodes: sees them through the port, orders them as a whole size, meters and prices them.

services.py says what a second kind of capacity touches.
"""
