"""Verbs for the person who runs a lab: doctor, arm, ack, experiment, slack, completion."""
