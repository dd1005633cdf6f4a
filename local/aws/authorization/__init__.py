"""Whether a call is allowed: by the caller's policies, the resource's policy, and the conditions of both.

`judge.py` decides. `requests.py` says what a call asks for. local/aws/iam.py asks before every call.
"""
