"""The simulated world agrees with AWS: requests and answers with botocore's models, the table with moto."""

from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from typing import Any

import boto3
import botocore.session
import pytest
from botocore.exceptions import ClientError
from botocore.model import ListShape, OperationModel, Shape, StructureShape
from botocore.validate import ParamValidator
from moto import mock_aws

from tests import ledger_table
from tests.world.history import Play, Step
from tests.world.labs import LAB, START
from tests.world.outside import Client
from tests.world.world import World

STORY = (
    Step("open", "gpu", number=2, minutes=40),
    Step("ci-opens", "gpu", number=2, minutes=15),
    Step("working", "gpu", minutes=7),
    Step("extend", "gpu", minutes=15),
    Step("by-hand", "gpu", number=3, minutes=15),
    Step("stray", "big", minutes=15),
    Step("skip", "gpu", number=0, minutes=1),
    Step("open", "big", number=1, minutes=15),
    Step("ci-closes", "gpu", number=2),
    Step("ci-forges", "gpu", number=3, minutes=1),
    Step("close", "big", number=0, minutes=7),
    Step("wait", minutes=90),
)
"""A long history: the test checks every call of it."""


@cache
def operation_of(service: str, operation: str) -> OperationModel:
    model = botocore.session.get_session().get_service_model(service)
    names = {name.lower(): name for name in model.operation_names}
    return model.operation_model(names[operation.replace("_", "")])


def strange(answer: Any, shape: Shape, path: str = "") -> Iterator[str]:
    """Fields of an answer that the model of the service lacks."""
    if isinstance(shape, StructureShape) and isinstance(answer, dict):
        for key, value in answer.items():
            if key not in shape.members:
                yield f"{path}.{key}"
            else:
                yield from strange(value, shape.members[key], f"{path}.{key}")
    elif isinstance(shape, ListShape) and isinstance(answer, list):
        for each in answer:
            yield from strange(each, shape.member, f"{path}[]")


def test_requests_and_answers_are_as_the_services_model_them(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: set[str] = set()
    seen: set[str] = set()

    def look(service: str, operation: str, given: Any, answer: Any) -> None:
        model = operation_of(service, operation)
        seen.add(f"{service}.{operation}")
        if model.input_shape is not None:
            found = ParamValidator().validate(given, model.input_shape)
            if found.has_errors():
                wrong.add(f"{service}.{operation}: {found.generate_report()}")
        if model.output_shape is not None and service != "lambda":
            wrong.update(f"{service}.{operation}: {each}" for each in strange(answer, model.output_shape))

    monkeypatch.setattr(Client, "listeners", [look])
    world = World(LAB, START)
    played = Play(world, 0)
    with world:
        world.run(timedelta(minutes=6))
        for step in STORY:
            played.step(step)
        played.settle()

    assert wrong == set()
    assert len(seen) > 20


class Shadowed:
    """The world's table beside moto's: the test asks both, and both must give the same answer."""

    def __init__(self, ours: Any, theirs: Any) -> None:
        self._ours, self._theirs = ours, theirs
        self.asked = 0

    def __getattr__(self, operation: str) -> Any:
        def both(**given: Any) -> Any:
            self.asked += 1
            theirs, theirs_failed = _answer(getattr(self._theirs, operation), given)
            ours, failed = _answer(getattr(self._ours, operation), given)
            assert _code(failed) == _code(theirs_failed), (operation, given)
            for key in ("Item", "Items", "Attributes"):
                assert ours.get(key) == theirs.get(key), (operation, given)
            if failed is not None:
                raise failed
            return ours

        return both


def _answer(operation: Any, given: Any) -> tuple[Any, ClientError | None]:
    try:
        return operation(**given), None
    except ClientError as error:
        return {}, error


def _code(error: ClientError | None) -> str | None:
    return None if error is None else error.response["Error"]["Code"]


def test_the_table_answers_as_motos_does_all_through_a_story(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    with mock_aws():
        moto = boto3.client("dynamodb", region_name="ap-northeast-2")
        ledger_table.create(moto, "gpu-lab-ledger")
        world = World(LAB, START)
        shadowed = Shadowed(world.dynamodb, moto)
        world._services["dynamodb"] = shadowed
        played = Play(world, 0)
        with world:
            for step in STORY[:6]:
                played.step(step)

    assert shadowed.asked > 300
