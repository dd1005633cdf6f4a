"""Names of nodes as pages show them: short, with the whole name as the title."""

import re

from lamplighter.pages.html import Child, Html, el, with_code

_OF_EC2 = re.compile(r"\b(?:ip-\d+-\d+-\d+-\d+|i-[0-9a-f]+)(?:\.[a-z0-9-]+\.compute|\.ec2)\.internal\b")


def node_name(node: str) -> Html:
    """The short name of one or several nodes."""
    short = short_name(node)
    return el("bdi", short, title=node if short != node else None)


def short_name(node: str) -> str:
    """`ip-10-0-1-7` of `ip-10-0-1-7.ap-northeast-2.compute.internal`."""
    return ", ".join(each.partition(".")[0] for each in node.split(", "))


def with_short_names(text: str) -> Html:
    """A text in which each name that EC2 gives a node is short, and words between backticks are code."""
    return with_code(text, _with_short_names)


def _with_short_names(text: str) -> list[Child]:
    shown: list[Child] = []
    end = 0
    for found in _OF_EC2.finditer(text):
        name = el("bdi", short_name(found[0]), title=found[0], class_="unbroken")
        shown += [text[end : found.start()], name]
        end = found.end()
    return [*shown, text[end:]]
