"""`notify` in lab.yaml: who is paged, who is told what, in which language; each mistake is one clear line."""

import pytest

from lamplighter.data.texts import languages
from lamplighter.lab.model import Lab
from lamplighter.lab.notice_kinds import NOTICES, ROUTED
from lamplighter.labfile.file import parse


def said(notify: str, more: str = "") -> list[str]:
    found = parse(f"name: x\nnotify: {notify}\n{more}", "f")
    return [] if isinstance(found, Lab) else [f"{problem.key}: {problem.text}" for problem in found]


def read(notify: str) -> Lab:
    found = parse(f"name: x\nnotify: {notify}\n", "f")
    assert isinstance(found, Lab), found
    return found


def test_a_lab_of_before_reads_as_it_did() -> None:
    notify = read("{email: oncall@example.com}").notify

    assert (notify.email, notify.pages, notify.notices, notify.language) == (
        "oncall@example.com",
        [],
        [],
        "en",
    )


def test_a_route_without_kinds_gets_the_usual_ones_of_every_pool() -> None:
    (route,) = read('{notices: [{to: "https://example.com/in"}]}').notify.notices
    assert route.kinds == list(ROUTED)
    assert route.pools is None


def test_functions_read_the_routes_as_they_were_written() -> None:
    lab = read("{language: ko, pages: [a@example.com], notices: [{to: b@example.com, kinds: [open]}]}")
    assert Lab.from_json(lab.to_json()) == lab


@pytest.mark.parametrize(
    ("notify", "line"),
    [
        ("{notices: [{to: a@example.com, kinds: [opened]}]}",
         'notify.notices.0.kinds.0: is "opened", which is no kind of notice; the nearest is open'),
        ("{notices: [{to: a@example.com, kinds: [leaked]}]}",
         ('notify.notices.0.kinds.0: is "leaked", which is a page: '
          "it goes to notify.email and notify.pages; leave it out")),
        ("{notices: [{to: a@example.com, pools: [gup]}]}",
         'notify.notices.0.pools.0: is "gup", which is no pool of this lab; the nearest is gpu'),
        ("{notices: [{to: a@example.com}, {to: a@example.com}]}",
         'notify.notices.1.to: is "a@example.com", like a route before it; write all kinds in one route'),
        ("{pages: [a@example.com, a@example.com]}",
         'notify.pages.1: is "a@example.com", like an address before it; leave it out'),
        ("{email: a@example.com, pages: [a@example.com]}",
         'notify.pages.0: is "a@example.com", like notify.email; leave one of the two out'),
        ('{pages: ["http://example.com/in"]}',
         'notify.pages.0: is "http://example.com/in", write an e-mail address, or one that begins with https://'),
        ('{notices: [{to: "https://user:secret@example.com/"}]}',
         ('notify.notices.0.to: is "https://user:secret@example.com/", '
          "write an e-mail address, or one that begins with https://")),
        ("{notices: [{kinds: [open]}]}", "notify.notices.0.to: is missing, write to: instructors@example.com"),
        ("{notices: [{to: a@example.com, kinds: []}]}", "notify.notices.0.kinds: is empty, write at least one"),
    ],
)  # fmt: skip
def test_each_mistake_is_one_line(notify: str, line: str) -> None:
    assert said(notify) == [line]


def test_a_language_that_nobody_wrote_is_refused_with_those_there_are() -> None:
    (line,) = said("{language: kr}")
    assert line.startswith(f'notify.language: is "kr", write one of {", ".join(languages())}')


def test_more_combinations_than_sns_takes_are_refused() -> None:
    pools = "".join(f"  p{number}: {{}}\n" for number in range(9))
    named = ", ".join(f"p{number}" for number in range(9))
    kinds = ", ".join(NOTICES)

    (line,) = said(
        f"{{notices: [{{to: a@example.com, kinds: [{kinds}], pools: [{named}]}}]}}", f"pools:\n{pools}"
    )
    assert line.startswith("notify.notices.0: has more than 150 combinations of kinds and pools")
