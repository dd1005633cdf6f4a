"""A mapping template gives the text that API Gateway would, or says what it does not know."""

import pytest

from local.aws.api.mapping_templates import Input, render

GIVEN = Input("a=1 &b=~*", {"q": "of the query"}, {"X-A": "of a header"}, {"requestId": "7"})


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("$input.body", "a=1 &b=~*"),
        ("B=$util.urlEncode($input.body)&C=1", "B=a%3D1+%26b%3D%7E*&C=1"),
        ("$input.params('X-A') $input.params('q')$input.params('x-a')", "of a header of the query"),
        ("$util.urlEncode($input.params('X-A')).", "of+a+header."),
        ("$context.requestId", "7"),
        ('#set($nothing = "")', ""),
        ("## says nothing\n#set($nothing = '')\nthis", "this"),
        ('{"statusCode": 405}', '{"statusCode": 405}'),
    ],
)
def test_a_template_is_rendered(template, text):
    assert render(template, GIVEN) == text


@pytest.mark.parametrize(
    "template",
    [
        "$input.json('$')",
        "$input.body.length()",
        "$input.params()",
        "$input.params().header.get('X-A')",
        "$util.base64Encode($input.body)",
        "$util.urlEncode($util.urlDecode($input.body))",
        "$context.stage",
        "$other",
        "#foreach($a in $b)#end",
        "#set($a = 1)",
        "costs 5 $",
    ],
)
def test_what_a_template_cannot_say_here_is_an_error(template):
    with pytest.raises(ValueError, match="do not know"):
        render(template, GIVEN)


def test_an_empty_body_is_an_empty_object():
    assert render("$input.body", Input("", {}, {}, {})) == "{}"
