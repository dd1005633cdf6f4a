"""What a lab shows: one model for the terminal, Slack and the pages, so that all show the same.

Pure and frozen. adapters/aws/view_reading.py reads the values, and each surface has its own words and layout.
"""
