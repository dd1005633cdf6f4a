"""Whether a call is allowed: by the caller's policies, those of the resource and the conditions of both.

`judge.py` decides, `requests.py` says what a call asks for, `enforcement.py` stands before every call.
"""
