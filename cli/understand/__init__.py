"""Verbs that show and change nothing: status, why, diagnose, verdict, cost, receipt, page."""
