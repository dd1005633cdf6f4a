"""The state machines of the how-to of pipelines are ones that the embedded Step Functions reads."""

import json

import pytest
import yaml

from docs.generate import ROOT
from local.aws.stepfunctions.definition import parsed

FILE = ROOT / "docs/how-to/run/pipeline/pipeline.yaml"


@pytest.mark.parametrize("machine", ["Pipeline", "Answers"])
def test_the_definition_is_read(machine: str) -> None:
    properties = yaml.safe_load(FILE.read_text("utf-8"))["Resources"][machine]["Properties"]

    assert parsed(json.dumps(properties["Definition"]))["StartAt"]
