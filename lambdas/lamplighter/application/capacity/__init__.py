"""A pool's nodes: reads them from AWS, orders them as a whole size, meters and prices them.

services.py says what a second kind of capacity touches.
"""
