"""The pages people look at: a receipt and the lab, each one HTML file with nothing outside it.

Pure rendering of what domain/views made; where pages are kept is handlers/pages.py's. Markup is built by
functions (html.py) rather than from templates: a text that nobody escaped cannot get in, the drawings are
arithmetic anyhow, and the layer needs no template engine.
"""
