"""Verbs that only show: status, why, diagnose, verdict, cost, receipt, page."""
