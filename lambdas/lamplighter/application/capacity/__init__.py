"""A pool's nodes: reads them from AWS, orders them as a whole size, meters and prices them."""
