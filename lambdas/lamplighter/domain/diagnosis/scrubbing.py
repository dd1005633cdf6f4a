"""Removes secrets from a text: keys by their form, and values by their names.

Owns the patterns, each with the issuer of the key. redaction.py decides which texts are scrubbed.
"""

import re

TAKEN_OUT = "(taken out)"

SECRET_NAME = re.compile(
    r"pass(?:word|wd|phrase|code)?$|pwd|secret|token|api[-_.]?key|access[-_.]?key|private[-_.]?key|credential"
    r"|auth(?:orization)?$|auth[-_.]|cookie|session[-_.]?id|signature|encryption[-_.]?key|dsn$|webhook"
    r"|(?:^|[-_.])key$|connection[-_.]?string",
    re.IGNORECASE,
)
"""A name whose value is a secret."""

# Keys that are recognised by their form alone.
_BY_FORM = tuple(
    re.compile(pattern)
    for pattern in (
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)",
        r"\b(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{12,}\b",  # AWS
        r"\bk8s-aws-v1\.[A-Za-z0-9_=-]+",  # EKS's bearer token
        r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?",  # JSON web tokens
        r"\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_[A-Za-z0-9_]{16,}",  # GitHub
        r"\bglpat-[A-Za-z0-9_-]{16,}",  # GitLab
        r"\bhf_[A-Za-z0-9]{16,}",  # Hugging Face
        r"\bsk-[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic
        r"\bnvapi-[A-Za-z0-9_-]{16,}",  # NVIDIA NGC
        r"\bxox[abeoprs]-[A-Za-z0-9-]{8,}",  # Slack
        r"\bAIza[A-Za-z0-9_-]{30,}",  # Google
        r"https://hooks\.slack\.com/[^\s\"']+",
    )
)
_USER_INFO = re.compile(r"(://)[^/\s:@\"']{1,200}:[^/\s@\"']{1,200}@")
_BEARER = re.compile(r"\b(bearer|basic)(\s+)[A-Za-z0-9._~+/-]{6,}=*", re.IGNORECASE)
_QUOTED = r"\"(?:[^\"\\]|\\.){1,4000}\"|'[^']{1,4000}'"
# name=value, name: value, "name": "value", --name value, --name=value
_NAMED = re.compile(
    r"(?P<name>[A-Za-z0-9_.-]{0,60}(?:passw(?:or)?d|passphrase|pwd|secret|token|api[-_.]?key|access[-_.]?key"
    r"|private[-_.]?key|credentials?|cookie|signature|authorization|sig)[A-Za-z0-9_.-]{0,40})"
    r"(?P<between>[\"']?\s{0,3}[=:]\s{0,3})"
    rf"(?P<value>{_QUOTED}|[^\s\"',;&}}\])]{{1,4000}})",
    re.IGNORECASE,
)
_OPTION = re.compile(
    r"(?P<name>--?[A-Za-z0-9_.-]{0,60}(?:passw(?:or)?d|passphrase|pwd|secret|token|api[-_.]?key|access[-_.]?key"
    r"|private[-_.]?key|credentials?)[A-Za-z0-9_.-]{0,40})(?P<between>\s{1,3})"
    rf"(?P<value>{_QUOTED}|[^\s-][^\s]{{0,4000}})",
    re.IGNORECASE,
)
# No pattern matches in a text without one of these sequences. Most texts are checked only against this one.
_HINT = re.compile(
    r"-----BEGIN|AKIA|ASIA|AROA|AIDA|ABIA|ACCA|k8s-aws-v1|eyJ|gh[pousr]_|github_pat|glpat-|hf_|sk-|nvapi-|xox|AIza"
    r"|hooks\.slack|://|bearer|basic|passw|passphrase|pwd|secret|token|key|credential|cookie|sig|authorization",
    re.IGNORECASE,
)


def scrubbed(text: str) -> str:
    """The text without anything that looks like a secret."""
    if not _HINT.search(text):
        return text
    for pattern in _BY_FORM:
        text = pattern.sub(TAKEN_OUT, text)
    text = _USER_INFO.sub(rf"\1{TAKEN_OUT}@", text)
    text = _BEARER.sub(rf"\1\2{TAKEN_OUT}", text)
    text = _NAMED.sub(_unnamed, text)
    return _OPTION.sub(_unnamed, text)


def _unnamed(found: re.Match[str]) -> str:
    value = found["value"]
    if value.startswith("("):
        return found[0]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{found['name']}{found['between']}{quote}{TAKEN_OUT}{quote}"
