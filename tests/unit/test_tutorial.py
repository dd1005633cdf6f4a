"""What of the tutorial no test can run: exactly what only AWS can, and what says so on its page."""

from tests.tutorial import commands


def test_only_what_needs_an_account_is_left_untried() -> None:
    assert commands("first-lab.md", only_on_aws=True) == []
    assert commands("on-aws.md", only_on_aws=True) == [
        ".venv/bin/lamplighter doctor --lab my-lab.yaml",
        ".venv/bin/npx aws-cdk@2.1148.1 bootstrap --app .build/my-lab",
        ".venv/bin/npx aws-cdk@2.1148.1 deploy --all --app .build/my-lab",
        ".venv/bin/npx aws-cdk@2.1148.1 destroy --all --app .build/my-lab",
    ]


def test_there_is_something_to_type() -> None:
    assert len(commands("first-lab.md")) > 8
    assert len(commands("on-aws.md")) > 10
