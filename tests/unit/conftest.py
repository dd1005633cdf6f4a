"""Every text that any unit test has said is also said in every other language: nothing may be missing there."""

from functools import wraps

import pytest

from lamplighter.data.texts import Texts, languages, rendered


@pytest.fixture(autouse=True)
def _in_every_language(monkeypatch: pytest.MonkeyPatch) -> None:
    say = Texts.say

    @wraps(say)
    def in_every_language(self: Texts, key: str, /, **values: object) -> str:
        if (key, *values) not in _SAID:
            for language in languages():
                rendered(language, key, values)
            _SAID.add((key, *values))
        return say(self, key, **values)

    monkeypatch.setattr(Texts, "say", in_every_language)


_SAID: set[tuple[str, ...]] = set()
"""Texts with the names of their values: pages say the same ones thousands of times."""
