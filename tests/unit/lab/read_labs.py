"""Lab files of these tests: the lab of one that is good, and the problems of one that is not."""

from lamplighter.lab.model import Lab
from lamplighter.labfile.file import parse

KARPENTER = "cluster: {karpenter: {version: 1.14.3}}\n"
AUTO = "cluster: {auto_mode: {enabled: true}}\ngpu_operator: {enabled: false}\n"
EXISTING = "cluster: {existing: theirs, karpenter: {existing: true}}\n"
ALIAS = "al2023@v20260724"


def problems(text: str) -> list[str]:
    """The problems of a lab with the name x and these keys, each by its key; none if the lab is good."""
    found = parse(f"name: x\n{text}")
    return [] if isinstance(found, Lab) else [f"{one.key}: {one.text}" for one in found]


def lab(text: str) -> Lab:
    """The good lab with the name x and these keys."""
    found = parse(f"name: x\n{text}")
    assert isinstance(found, Lab), found
    return found


def of_karpenter(keys: str = "") -> str:
    """A lab with one pool of Karpenter, which has these keys as well."""
    return f"{KARPENTER}pools: {{gpu: {{kind: karpenter{keys and ', '}{keys}}}}}"


def of_auto_mode(keys: str = "") -> str:
    """A lab with one pool of EKS Auto Mode, which has these keys as well."""
    return f"{AUTO}pools: {{gpu: {{kind: auto-mode{keys and ', '}{keys}}}}}"
