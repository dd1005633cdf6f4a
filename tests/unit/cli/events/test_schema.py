"""The JSON Schemas: one for each class of event, told by the class, in the reference and on the command line."""

import json
import re
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from referencing import Registry

from cli.reference import event_schemas
from docs.generate import EVENTS, ROOT
from lamplighter.data.texts import ENGLISH
from lamplighter.domain.commands.orders import EXPIRES_AFTER
from lamplighter.domain.events import lab_event as events
from lamplighter.domain.events.request import KEYS
from lamplighter.domain.notices.phrases import clock_and_date
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import reason
from tests.builders.leases import EIGHT
from tests.programs import lamplighter
from tests.unit.cli.events.given import ALLOW, about

FOLDER = ROOT / event_schemas.FOLDER
FAILED = events.FailedCheck(check="dcgm", node="n", verdict="failed", reason=events.EventReason(text="no"))
SAID: dict[type[events.LabEvent], dict[str, Any]] = {
    events.LeaseGranted: {"nodes": 1, "opens": EIGHT, "closes": EIGHT},
    events.LeaseRefused: {"earliest": EIGHT},
    events.PoolOpen: {"nodes": 1, "closes": EIGHT},
    events.PoolDegraded: {"nodes": None, "closes": None},
    events.Warned: {"closes": EIGHT},
    events.Extended: {"closes": EIGHT},
    events.PoolClosing: {},
    events.PoolClosed: {"nodes": 0},
    events.Breach: {"rule": "no-lease", "action": "close"},
    events.Leaked: {"rule": "leaked"},
    events.Verdict: {"checks": (events.CheckCount(check="nvidia-smi", passed=1),), "failed": (FAILED,)},
    events.Receipt: {
        "nodes": 1,
        "node_seconds": 3600,
        "cost": events.Amount(amount="1.24", currency="USD"),
        "closed": datetime(2026, 11, 20, tzinfo=UTC),
    },
}


@pytest.mark.parametrize("kind", events.KINDS, ids=lambda kind: kind.TYPE)
def test_every_event_has_its_schema_in_the_reference_and_fits_it(kind: type[events.LabEvent]) -> None:
    schema = json.loads((FOLDER / f"{kind.TYPE}.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    detail = kind(**about(), **SAID[kind]).detail()
    Draft202012Validator(schema).validate(json.loads(json.dumps(detail)))
    assert {*schema["properties"]} == {*detail}
    assert schema["$id"] == f"urn:lamplighter:event:{kind.TYPE}:{events.VERSION}"


@pytest.mark.parametrize("kind", events.KINDS, ids=lambda kind: kind.TYPE)
def test_every_key_says_what_it_is(kind: type[events.LabEvent]) -> None:
    properties: Any = event_schemas.of_event(kind)["properties"]
    assert all(rule["description"] for rule in properties.values())


def test_a_later_release_may_tell_more_and_never_less() -> None:
    validator = Draft202012Validator(event_schemas.of_event(events.PoolClosed))
    detail = json.loads(json.dumps(events.PoolClosed(**about(), nodes=0).detail()))
    assert validator.is_valid({**detail, "new": 1})
    assert not validator.is_valid({key: value for key, value in detail.items() if key != "nodes"})
    assert not validator.is_valid({**detail, "nodes": "0"})


def test_a_reason_has_values_and_parts_of_any_form() -> None:
    validator = Draft202012Validator(event_schemas.of_event(events.PoolClosing))
    parts = ("as asked", {"code": "lease.closed-by", "values": {"by": "alice"}})
    said = events.EventReason(text="as asked", values={"pool": "gpu", "at": {"at": "x"}, "n": 1}, parts=parts)
    detail = events.PoolClosing(**about(reason=said)).detail()
    validator.validate(json.loads(json.dumps(detail)))


def test_a_request_has_the_keys_that_the_lab_reads_and_no_others() -> None:
    schema = json.loads((FOLDER / "requests.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    assert {name: (*rule["properties"],) for name, rule in schema["$defs"].items()} == {
        verb.value: keys for verb, keys in KEYS.items()
    }


@pytest.mark.parametrize(
    ("detail_type", "detail", "good"),
    [
        ("open", {"pool": "gpu", "nodes": 2, "for_seconds": 60, "token": "t"}, True),
        ("open", {}, True),
        ("open", {"for_seconds": 60, "until": "2026-11-20T20:00:00Z"}, False),
        ("open", {"nodes": 0}, False),
        ("open", {"nodes": True}, False),
        ("open", {"owner": "alice"}, False),
        ("open", {"token": "t" * 101}, False),
        ("extend", {"nodes": 1}, False),
        ("close", {"for_seconds": 1}, False),
        ("destroy", {}, False),
    ],
)
def test_the_schema_takes_what_the_lab_takes(detail_type: str, detail: dict[str, object], good: bool) -> None:
    event = {"detail-type": detail_type, "detail": detail}
    assert Draft202012Validator(event_schemas.requests()).is_valid(event) == good
    assert good == _lab_reads(detail_type, detail)


def _lab_reads(detail_type: str, detail: dict[str, object]) -> bool:
    from lamplighter.domain.events import request  # noqa: PLC0415 -- only here
    from lamplighter.errors import LamplighterError  # noqa: PLC0415

    lab = Lab.model_validate({"name": "lab", "events": {"allow": ALLOW}})
    event = {
        "id": "1", "source": "ci.training", "account": "111122223333", "time": "2026-11-20T20:00:00Z",
        "detail-type": detail_type, "detail": detail,
    }  # fmt: skip
    try:
        request.read(event, lab, EIGHT)
    except LamplighterError:
        return False
    return True


def test_the_page_has_every_detail_type_with_its_schema() -> None:
    page = (ROOT / EVENTS).read_text("utf-8")
    rows = re.findall(r"^\| \[`([a-z-]+)`\]\(([a-z.-]+)\)", page, re.MULTILINE)
    assert rows == [(kind.TYPE, f"{kind.TYPE}.schema.json") for kind in events.KINDS]


def test_the_reason_of_the_page_is_one_of_the_lab() -> None:
    page = (ROOT / EVENTS).read_text("utf-8")
    shown = json.loads(re.findall(r"```json\n(.*?)```", page, re.DOTALL)[1])
    put, came = datetime(2026, 12, 1, 11, tzinfo=UTC), datetime(2026, 12, 1, 11, 20, tzinfo=UTC)
    why = reason("command.event.too-old", put=put, came=came, within=EXPIRES_AFTER)
    made = events.EventReason.of(why, ENGLISH, clock_and_date(ENGLISH, ZoneInfo("Asia/Seoul")))
    assert shown == events.PoolClosing(**about(reason=made)).detail()["reason"]


def test_the_command_line_prints_one_by_its_name() -> None:
    said = lamplighter("events", "schema", "pool-open")
    assert json.loads(said.stdout) == json.loads(json.dumps(event_schemas.of_event(events.PoolOpen)))


def test_the_command_line_prints_one_schema_for_all_that_a_lab_tells() -> None:
    schema = json.loads(lamplighter("events", "schema").stdout)
    registry: Registry[Any] = Registry().with_contents(
        (each["$id"], each) for each in schema["$defs"].values()
    )
    validator = Draft202012Validator(schema, registry=registry)
    detail = json.loads(json.dumps(events.PoolClosing(**about()).detail()))

    assert validator.is_valid({"detail-type": "pool-closing", "detail": detail})
    assert not validator.is_valid({"detail-type": "pool-closing", "detail": {}})
    assert not validator.is_valid({"detail-type": "lesson-begins", "detail": detail})


def test_a_mistyped_type_is_answered_with_the_nearest() -> None:
    said = lamplighter("events", "schema", "pool-opn")
    assert said.returncode == 2
    assert "did you mean pool-open?" in said.stderr
