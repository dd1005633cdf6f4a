"""A tool's output as lines of text, in any encoding, with tags or colours."""

import pytest

from lamplighter.domain.checks.verdicts.tool_output import OutputLine, decoded, lines


@pytest.mark.parametrize(("raw", "text"), [
    (b"plain", "plain"),
    ("\ufeffmarked".encode(), "marked"),
    ("wide".encode("utf-16"), "wide"),
    (b"\xfe\xff" + "wide".encode("utf-16-be"), "wide"),
    (b"a\xffb", "a\ufffdb"),
])  # fmt: skip
def test_a_file_is_text_whatever_shell_wrote_it(raw: bytes, text: str) -> None:
    assert decoded(raw) == text


@pytest.mark.parametrize(("text", "found"), [
    ("", []),
    ("one\ntwo\n", [OutputLine("one", True), OutputLine("two", True)]),
    ("one\ntwo", [OutputLine("one", True), OutputLine("two", False)]),
    ("one\r\ntwo\r\n", [OutputLine("one", True), OutputLine("two", True)]),
    ("one\r\ntwo\r", [OutputLine("one", True), OutputLine("two", True)]),
    ("one\r\n\r", [OutputLine("one", True)]),
    ("\x1b[1;31mred\x1b[0m\n", [OutputLine("red", True)]),
    ("\ufeffone\n", [OutputLine("one", True)]),
    ("[1,0]<stdout>:one\n[1,12]<stderr>: two", [OutputLine("one", True, 0), OutputLine("two", False, 12)]),
    ("[job-12345,3]<stdout>:  one\n", [OutputLine(" one", True, 3)]),
    ("[1,0]<stdout>:one\n[0] two\nthree\n", [OutputLine("one", True, 0), OutputLine("[0] two", True),
     OutputLine("three", True)]),
])  # fmt: skip
def test_lines_are_told_without_ends_colours_and_tags(text: str, found: list[OutputLine]) -> None:
    assert list(lines(text)) == found
