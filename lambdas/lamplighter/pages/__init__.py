"""Two self-contained HTML pages: a receipt and the lab.

They render what domain/views made. handlers/pages.py keeps them. Functions (html.py) build the markup, not templates:
no text gets in without escaping, the drawings are arithmetic anyhow, and the layer needs no template engine.
"""
