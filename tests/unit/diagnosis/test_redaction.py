"""Which parts of a snapshot are removed, and which stay because a rule or a reader needs them."""

from typing import Any

import pytest

from lamplighter.domain.diagnosis.redaction import NO_ACCOUNT, redacted
from lamplighter.domain.diagnosis.scrubbing import TAKEN_OUT, scrubbed

ACCOUNT = "123456789012"
RANDOM = "aB3" + "x" * 13


def clean(part: Any, key: str = "part") -> Any:
    return redacted({key: part})[key]


@pytest.mark.parametrize("name", [
    "args", "command", "annotations", "managedFields", "UserData", "userData", "user_data", "httpHeaders",
])  # fmt: skip
def test_what_people_put_anything_into_is_taken_out_whole(name: str) -> None:
    assert clean({name: ["x"], "kept": 1}) == {"kept": 1}


def test_of_annotations_only_those_of_karpenter_stay() -> None:
    stays = {"karpenter.sh/do-not-disrupt": "true"}
    assert clean({"annotations": {**stays, "token": "x"}, "kept": 1}) == {"annotations": stays, "kept": 1}
    assert clean({"annotations": {"token": "x"}, "kept": 1}) == {"kept": 1}


def test_of_a_config_map_the_end_of_the_launch_bar_stays() -> None:
    data = {"notAfter": "2026-11-20T11:00:00Z", "other": "2026-11-20T11:00:00Z and more"}
    assert clean({"kind": "ConfigMap", "data": data})["data"] == {
        "notAfter": "2026-11-20T11:00:00Z",
        "other": TAKEN_OUT,
    }


@pytest.mark.parametrize(("key", "value"), [
    ("Name", "kept"),
    ("eks:nodegroup-name", "kept"),
    ("aws:autoscaling:groupName", "kept"),
    ("karpenter.sh/nodepool", "kept"),
    ("alpha.eksctl.io/nodegroup-name", "kept"),
    ("owner", TAKEN_OUT),
    ("name", TAKEN_OUT),
])  # fmt: skip
def test_a_tag_is_kept_where_a_rule_reads_it(key: str, value: str) -> None:
    assert clean([{"Key": key, "Value": "kept"}]) == [{"Key": key, "Value": value}]
    assert clean({"tags": {key: "kept"}}) == {"tags": {key: value}}


def test_a_key_without_a_value_is_no_tag() -> None:
    assert clean({"Key": "owner"}) == {"Key": "owner"}
    assert clean({"Value": 8.0}) == {"Value": 8.0}
    assert clean({"tags": ["owner"]}) == {"tags": ["owner"]}


def test_the_data_of_a_config_map_is_taken_out_by_its_kind_and_by_its_shape() -> None:
    taken = {"a": TAKEN_OUT}

    assert clean({"kind": "ConfigMap", "data": {"a": "x"}}) == {"kind": "ConfigMap", "data": taken}
    assert clean({"metadata": {}, "data": {"a": "x"}}) == {"metadata": {}, "data": taken}
    assert clean({"kind": "ConfigMap", "data": "x"}) == {"kind": "ConfigMap", "data": TAKEN_OUT}
    assert clean({"binaryData": {"a": "x"}, "stringData": {"a": "x"}}) == {
        "binaryData": taken,
        "stringData": taken,
    }


@pytest.mark.parametrize("part", [
    {"data": {"a": "x"}},
    {"metadata": {}, "data": ["x"]},
    {"kind": "Deployment", "metadata": {}},
    {"stringData": "x"},
    {"binaryData": ["x"]},
])  # fmt: skip
def test_what_is_no_config_map_keeps_its_data(part: dict[str, Any]) -> None:
    assert clean(part) == part


@pytest.mark.parametrize(("text", "kept"), [
    ("version: v1\nsharing:\n  timeSlicing: {}\n", True),
    ("# ours\n  version: v1\nsharing: {}\n", True),
    ("version: v1\n", False),
    ("sharing: {}\n", False),
    ("version: v2\nsharing: {}\n", False),
])  # fmt: skip
def test_the_sharing_of_a_device_plugin_is_no_secret(text: str, *, kept: bool) -> None:
    found = clean({"kind": "ConfigMap", "data": {"whole": text, "number": 1}})
    assert found["data"] == {"whole": text if kept else TAKEN_OUT, "number": TAKEN_OUT}


@pytest.mark.parametrize("name", ["env", "environment"])
def test_of_an_environment_the_names_stay_and_the_values_go(name: str) -> None:
    reference = {"name": "B", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "b"}}}

    assert clean({name: [{"name": "A", "value": "x", "note": {"args": 1}}, reference, "odd"]}) == {
        name: [{"name": "A", "value": TAKEN_OUT, "note": {}}, reference, "odd"]
    }
    assert clean({name: {"A": "x"}}) == {name: {"A": TAKEN_OUT}}
    assert clean([{"name": "A", "value": "x"}], name) == [{"name": "A", "value": TAKEN_OUT}]
    assert clean({"spec": [{"name": "A", "value": "x"}]}) == {"spec": [{"name": "A", "value": "x"}]}


@pytest.mark.parametrize(("name", "taken"), [
    ("password", True),
    ("sessionToken", True),
    ("tls.key", True),
    ("key", False),
    ("Key", False),
    ("secretName", False),
    ("secretRef", False),
    ("phase", False),
])  # fmt: skip
def test_a_value_is_taken_out_by_its_name_unless_it_only_refers_to_one(name: str, *, taken: bool) -> None:
    assert clean({name: "word"}) == {name: TAKEN_OUT if taken else "word"}
    assert clean({name: 7}) == {name: 7}


def test_objects_of_kind_secret_are_left_out_of_a_list_and_nothing_else_is() -> None:
    kept = [{"kind": "Pod"}, {"kind": "ConfigMap"}, "Secret", 7]
    assert clean([{"kind": "Secret"}, *kept]) == kept


@pytest.mark.parametrize("where", [
    {"arn": f"arn:aws:iam::{ACCOUNT}:role/nodes"},
    {"image": f"{ACCOUNT}.dkr.ecr.ap-northeast-2.amazonaws.com/x"},
    {"OwnerId": ACCOUNT},
    {"RequesterId": ACCOUNT},
])  # fmt: skip
def test_an_account_that_is_named_anywhere_is_masked_everywhere(where: dict[str, str]) -> None:
    saved = redacted({"aws": where, "logs": {ACCOUNT: f"of {ACCOUNT}, not {ACCOUNT}3"}})
    assert ACCOUNT not in str(saved["aws"])
    assert saved["logs"] == {NO_ACCOUNT: f"of {NO_ACCOUNT}, not {ACCOUNT}3"}


@pytest.mark.parametrize("where", [{"note": ACCOUNT}, {"OwnerId": "12345678901"}, {"OwnerId": f"{ACCOUNT}x"}])
def test_twelve_digits_that_nobody_calls_an_account_are_none(where: dict[str, str]) -> None:
    assert redacted({"aws": where, "logs": {"a": ACCOUNT}})["logs"] == {"a": ACCOUNT}


@pytest.mark.parametrize(("name", "value", "taken"), [
    ("DB_PASSWORD", "sesame", True),
    ("DB_PASSWORD", "seven", False),
    ("PLAIN", "sesame", False),
    ("PLAIN", RANDOM, True),
    ("PLAIN", RANDOM[:15], False),
    ("PLAIN", RANDOM.lower(), False),
])  # fmt: skip
def test_a_secret_of_an_environment_is_taken_out_of_every_text(name: str, value: str, *, taken: bool) -> None:
    container = {"env": [{"name": name, "value": value}, "odd", {"name": "EMPTY"}]}
    saved = redacted({"spec": {"containers": [container]}, "logs": {"a": f"with {value} in it"}})
    assert saved["logs"]["a"] == f"with {TAKEN_OUT if taken else value} in it"


@pytest.mark.parametrize("where", ["args", "command"])
def test_a_random_argument_is_taken_out_of_every_text(where: str) -> None:
    saved = redacted({"spec": [{where: ["run", RANDOM]}], "logs": {"a": f"run {RANDOM}"}})
    assert saved["logs"]["a"] == f"run {TAKEN_OUT}"


def test_of_two_secrets_the_longer_is_taken_out_whole() -> None:
    env = [{"name": "A_TOKEN", "value": "sesame"}, {"name": "B_TOKEN", "value": "sesame-street"}]
    saved = redacted({"spec": {"env": env}, "logs": {"a": "sesame-street and sesame"}})
    assert saved["logs"]["a"] == f"{TAKEN_OUT} and {TAKEN_OUT}"


def test_what_is_no_text_stays_and_a_tuple_becomes_a_list() -> None:
    assert redacted({"now": "2026-11-20T11:00:00Z", "n": 7, "x": None, "t": (1, ("a",))}) == {
        "now": "2026-11-20T11:00:00Z",
        "n": 7,
        "x": None,
        "t": [1, ["a"]],
    }


@pytest.mark.parametrize(("text", "left"), [
    ("nothing here", "nothing here"),
    ("token=abc", f"token={TAKEN_OUT}"),
    ("token: 'abc def'", f"token: '{TAKEN_OUT}'"),
    ('{"apiKey": "abc"}', f'{{"apiKey": "{TAKEN_OUT}"}}'),
    ("--token abc", f"--token {TAKEN_OUT}"),
    ("--token --other", "--token --other"),
    ("token=(taken out)", "token=(taken out)"),
    ("Authorization: Bearer abcdef1", f"Authorization: {TAKEN_OUT} {TAKEN_OUT}"),
    ("https://user:word@host/x", f"https://{TAKEN_OUT}@host/x"),
    ("AKIA" + "A" * 12, TAKEN_OUT),
    ("AKIA" + "A" * 11, "AKIA" + "A" * 11),
])  # fmt: skip
def test_what_looks_like_a_secret_is_taken_out_of_a_text(text: str, left: str) -> None:
    assert scrubbed(text) == left


@pytest.mark.parametrize(("text", "left"), [
    ('--passphrase "correct horse battery" next', f'--passphrase "{TAKEN_OUT}" next'),
    ("--passphrase 'correct horse battery' next", f"--passphrase '{TAKEN_OUT}' next"),
    (r'--token "a \" b" next', f'--token "{TAKEN_OUT}" next'),
    ('--token "open next', f'--token "{TAKEN_OUT}" next'),
    ("--token it's next", f"--token {TAKEN_OUT} next"),
    ("--token abc'", f"--token {TAKEN_OUT}"),
    ('password="correct horse"', f'password="{TAKEN_OUT}"'),
])  # fmt: skip
def test_a_secret_is_taken_out_whole_with_whatever_quotes_it_has(text: str, left: str) -> None:
    assert scrubbed(text) == left


def test_an_environment_is_found_wherever_its_container_stands() -> None:
    deep = {"a": [{"b": ({"env": [{"name": "LAB_TOKEN", "value": "sesame"}]},)}]}
    assert redacted({"spec": deep, "logs": {"a": "sesame"}})["logs"] == {"a": TAKEN_OUT}


def test_a_reason_for_what_was_not_read_keeps_its_values_and_is_scrubbed() -> None:
    values = {"command": "get pods", "error": "password=hunter2000", "seconds": 5}

    found = redacted({"not_read": {"logs": {"code": "x.y", "values": values}}})

    assert found["not_read"]["logs"] == {
        "code": "x.y",
        "values": {**values, "error": f"password={TAKEN_OUT}"},
    }
