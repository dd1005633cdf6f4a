"""What is shown of a lab: one model, that the terminal, Slack and the pages draw, so that all say the same.

Pure and frozen; reading what it is made of is adapters/aws/view_reading.py's, words and layout are each surface's.
"""
