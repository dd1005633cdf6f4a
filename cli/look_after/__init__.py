"""Verbs of whoever looks after a lab: doctor, arm, ack, experiment, slack, completion."""
