"""Pages that are read from the templates say what today's templates say."""

import pytest

from docs import alarms
from docs.generate import LAB, ROOT, of_the_templates
from tests.infra.conftest import Assembly, Template


def test_the_generated_pages_are_up_to_date(assembly: Assembly) -> None:
    for path, text in of_the_templates(assembly.folder).items():
        assert (ROOT / path).read_text("utf-8") == text, f"{path} is old: run make docs"


def test_an_alarm_without_advice_is_refused(controller: Template) -> None:
    controller.document["Resources"]["New"] = {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {"AlarmName": "gpu-lab-new", "AlarmDescription": "Something new"},
    }
    try:
        with pytest.raises(KeyError, match="new"):
            alarms.page([controller.document], LAB.name)
    finally:
        del controller.document["Resources"]["New"]
