"""The commands of the tutorial that no test runs are exactly those that need AWS, and the page says so."""

from tests.tutorial import commands


def test_only_what_needs_an_account_is_left_untried() -> None:
    assert commands("first-lab.md", only_on_aws=True) == []
    assert commands("on-aws.md", only_on_aws=True) == [
        ".venv/bin/lamplighter doctor --lab my-lab.yaml",
        "make cdk",
        ".venv/bin/cdk bootstrap --app .build/my-lab",
        ".venv/bin/cdk deploy --all --app .build/my-lab",
        ".venv/bin/cdk destroy --all --app .build/my-lab",
    ]


def test_there_is_something_to_type() -> None:
    assert len(commands("first-lab.md")) > 8
    assert len(commands("on-aws.md")) > 10
