"""Experiments: faults put in on purpose, with the symptom to expect and a restore that does not depend on us.

The catalogue says what there is, admission who may run one when, rails what restores it if nobody else
does, report what came of it. Doing it is application/experiments' business.
"""
