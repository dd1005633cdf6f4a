"""What a tool printed, as lines of text: whatever wrote it, tagged it or coloured it."""

import pytest

from lamplighter.domain.checks.verdicts.tool_output import Line, decoded, lines


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"plain", "plain"),
        ("\ufeffmarked".encode(), "marked"),
        ("wide".encode("utf-16"), "wide"),
        (b"\xfe\xff" + "wide".encode("utf-16-be"), "wide"),
        (b"a\xffb", "a\ufffdb"),
    ],
)
def test_a_file_is_text_whatever_shell_wrote_it(raw: bytes, text: str) -> None:
    assert decoded(raw) == text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("one\ntwo\n", [Line("one", True), Line("two", True)]),
        ("one\ntwo", [Line("one", True), Line("two", False)]),
        ("one\r\ntwo\r\n", [Line("one", True), Line("two", True)]),
        ("one\r\ntwo\r", [Line("one", True), Line("two", True)]),
        ("one\r\n\r", [Line("one", True)]),
        ("\x1b[1;31mred\x1b[0m\n", [Line("red", True)]),
        ("\ufeffone\n", [Line("one", True)]),
        ("[1,0]<stdout>:one\n[1,12]<stderr>: two", [Line("one", True, 0), Line("two", False, 12)]),
        ("[job-12345,3]<stdout>:  one\n", [Line(" one", True, 3)]),
        (
            "[1,0]<stdout>:one\n[0] two\nthree\n",
            [Line("one", True, 0), Line("[0] two", True), Line("three", True)],
        ),
    ],
)
def test_lines_are_told_without_ends_colours_and_tags(text: str, found: list[Line]) -> None:
    assert list(lines(text)) == found
