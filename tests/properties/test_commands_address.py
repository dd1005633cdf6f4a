"""Whatever is sent to the lab's address, nobody appears as somebody else, nor touches what is another's."""

import json
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.commands import asked
from lamplighter.domain.commands.caller import Caller
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.leases.lease import Lease
from lamplighter.errors import BadInput, Refused
from tests.builders.leases import EIGHT, persons

NOW = EIGHT
MALLORY = Caller("arn:aws:sts::123456789012:assumed-role/students/mallory")
NAMES = st.sampled_from(
    ["alice", "mallory", "students/mallory", "boss", "window evening", "*", "gpu", "cli-1", ""]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
INSTANTS = st.datetimes().map(lambda at: at.isoformat() + "Z") | st.just("2026-11-20T21:00:00Z")
KEYS: dict[str, st.SearchStrategy[object]] = {
    "verb": st.sampled_from([verb.value for verb in Verb]),
    "pool": st.sampled_from(["gpu", "gpu", "*", "big"]),
    "token": st.sampled_from(["t-1", "t-2"]),
    "nodes": st.integers(-1, 3),
    "for_seconds": st.integers(-1, 10**7),
    "opens": INSTANTS,
    "closes": INSTANTS,
    "lease": st.sampled_from(["cli-1", "cli-2"]),
    "window": st.just("evening"),
    "date": st.just("2026-11-20"),
    "because": NAMES,
    "add": st.booleans(),
    "owner": NAMES,
    "experiment": st.just("nccl-blocked"),
}
FORGED = ("by", "source", "issued", "expires", "id", "generation", "opened_by", "for_lab")
BODIES = st.one_of(
    st.fixed_dictionaries(
        {key: KEYS[key] for key in ("verb", "pool", "token")},
        optional={
            key: values | ANYTHING for key, values in KEYS.items() if key not in {"verb", "pool", "token"}
        },
    ),
    st.fixed_dictionaries(
        {key: KEYS[key] for key in ("verb", "pool", "token")}, optional=dict.fromkeys(FORGED, ANYTHING)
    ),
    ANYTHING,
)


def lease(name: str, owner: str) -> Lease:
    return persons(name, closes=60, owner=owner, by=owner)


LEASES = {each.id: each for each in (lease("cli-1", "alice"), lease("cli-2", MALLORY.name))}


def read(body: object, path: str) -> Command | None:
    sent = json.loads(json.dumps(body))
    try:
        command = asked.read(sent, path, MALLORY, NOW)
        return asked.about(command, LEASES.get(command.lease or ""))
    except (BadInput, Refused) as error:
        said = str(error)
    assert len(said.splitlines()) == 1
    return None


@given(BODIES, st.sampled_from([path for path in asked.PATHS if path.startswith("own/")]))
def test_at_own_nobody_is_anybody_else(body: object, path: str) -> None:
    command = read(body, path)
    if command is None:
        return
    assert (command.by, command.source, command.for_lab) == (MALLORY.name, "cli", False)
    assert command.owner == MALLORY.name
    assert (command.issued, command.expires) == (NOW, NOW + timedelta(minutes=15))
    assert (command.window, command.date, command.generation, command.opened_by) == (None, None, None, None)
    of_the_lab = {Verb.PAUSE, Verb.RESUME, Verb.SKIP, Verb.UNSKIP, Verb.ARM, Verb.WATCH, Verb.ACK}
    assert command.verb not in of_the_lab
    if command.verb is Verb.OPEN:
        assert command.lease is None
    elif command.verb in {Verb.CLOSE, Verb.EXTEND, Verb.KEEP}:
        assert command.lease == "cli-2"
    assert Command.from_json(json.loads(json.dumps(command.to_json()))) == command


@given(BODIES, st.sampled_from(asked.PATHS))
def test_at_any_address_who_gave_it_is_said_truly(body: object, path: str) -> None:
    command = read(body, path)
    if command is not None:
        assert (command.by, command.source, command.issued) == (MALLORY.name, "cli", NOW)
        assert command.id.startswith(f"cli-{command.verb.value}-")
        assert asked.route(command.verb) == path.partition("/")[2]
        assert command.for_lab == path.startswith("lab/")
