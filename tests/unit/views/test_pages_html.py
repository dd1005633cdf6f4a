"""Whatever somebody wrote is text on a page: escaped in elements and attributes, wherever it stands."""

from functools import cache
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from lamplighter.pages import lab_page, receipt_page
from lamplighter.pages.html import Html, el, escaped, joined, with_code
from tests import page_views as views

ANYTHING = st.text(max_size=40)
#: What a person can write and see.
READABLE = st.text(st.characters(exclude_categories=["Cc", "Cf", "Cn", "Cs"]), max_size=40)
#: Pieces that mean something to a browser, in any order.
PIECES = (
    "<", ">", '"', "'", "&", "/", "=", "script", "<script>", "-->", "]]>", "&lt;", "onload", "\x00",
    "\u202e", "svg",
)  # fmt: skip
MARKUP = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


class Read(HTMLParser):
    """What a browser would find."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


@given(READABLE)
def test_a_text_in_an_element_is_read_as_it_was_written(text: str) -> None:
    read = Read(el("p", text, title=text))
    assert (read.tags, read.text, read.attributes) == (["p"], text, [("title", text)])


@given(ANYTHING | MARKUP)
def test_a_text_in_an_attribute_stays_in_it(text: str) -> None:
    read = Read(el("p", "told", title=text))
    assert read.tags == ["p"]
    assert [name for name, _ in read.attributes] == ["title"]
    assert read.text == "told"


@given(ANYTHING | MARKUP)
def test_nothing_unseen_or_turning_the_text_comes_through(text: str) -> None:
    unseen = {
        chr(code)
        for code in [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
    }
    assert not (unseen - set("\t\n\r")) & set(escaped(text))


@cache
def plain_receipt() -> Read:
    return Read(receipt_page.page(views.named(views.degraded(), "x"), "lab", "region", views.words()))


@cache
def plain_lab() -> Read:
    return Read(lab_page.page(views.named_lab("x"), views.words()))


@given(MARKUP)
def test_a_whole_receipt_has_the_same_elements_whatever_names_are_in_it(name: str) -> None:
    hostile = Read(receipt_page.page(views.named(views.degraded(), name or "x"), name, name, views.words()))
    assert hostile.tags == plain_receipt().tags
    assert {tag for tag, _ in hostile.attributes} == {tag for tag, _ in plain_receipt().attributes}


@given(MARKUP)
def test_a_whole_lab_has_the_same_elements_whatever_names_are_in_it(name: str) -> None:
    assert Read(lab_page.page(views.named_lab(name or "x"), views.words())).tags == plain_lab().tags


def test_markup_is_kept_and_what_was_joined_to_it_is_not_markup() -> None:
    assert el("p", el("b", "<"), "<") == "<p><b>&lt;</b>&lt;</p>"
    assert joined(Html("<br>"), "<br>") == "<br>&lt;br&gt;"
    # Text added to markup is text again: it is escaped rather than trusted.
    assert el("p", Html("<br>") + "<br>") == "<p>&lt;br&gt;&lt;br&gt;</p>"


def test_attributes_that_are_not_there_are_left_out() -> None:
    assert el("a", class_="b", hidden=True, title=None, aria_label="c", x=1.5, y=2.0) == (
        '<a class="b" hidden aria-label="c" x="1.5" y="2"></a>'
    )


def test_words_between_backticks_are_code_and_still_text() -> None:
    assert with_code("set `<a>` & `b`") == "set <code>&lt;a&gt;</code> &amp; <code>b</code>"
    assert with_code("one ` alone, `` none") == "one ` alone, `` none"
    assert "Wait, or give the pool a second zone: <code>zone_index</code> in lab.yaml." in lab_page.page(
        views.busy_lab(), views.words()
    )


@given(MARKUP)
def test_code_loses_nothing_but_backticks(text: str) -> None:
    read = Read(with_code(f"a `{text}` b"))
    assert read.tags == ["code"] * bool(text)
    assert read.text.replace("`", "") == Read(escaped(f"a {text} b")).text.replace("`", "")
