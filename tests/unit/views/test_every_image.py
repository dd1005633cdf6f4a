"""Every image that a node group with GPUs may have, in all that people see of a lease: from check to the page."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.view_reading import ViewReading, read_lab, receipt_of
from lamplighter.application.views.pools import with_sizes
from lamplighter.data import versions
from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.views.lab_view import PoolView
from lamplighter.lab.pools import Pool
from lamplighter.pages import lab_page, receipt_page, wording
from tests.programs import lamplighter
from tests.unit.views.test_pages import said
from tests.world.chat import SLACK, TEACHER, Chat
from tests.world.world import World

BEGINS = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
DEFAULT = Pool.model_fields["ami_type"].default
OWN = {"ami_type": "CUSTOM", "image": "ami-0123456789abcdef0"}
IMAGES: dict[str, dict[str, str]] = {
    "CUSTOM": {**OWN, "image_family": "al2023"},
    **{name: {"ami_type": name} for name, image in versions.ami_types().items() if image.nvidia},
}


@dataclass(frozen=True)
class Seen:
    """What there is to see of a lease of an hour, while it is open and after it."""

    open: "Views"
    closed: "Views"
    receipt: dict[str, Any]
    receipt_page: str


@dataclass(frozen=True)
class Views:
    """Of the lab at an instant."""

    status: PoolView
    slack: str
    page: str


def lab_of(name: str) -> dict[str, Any]:
    """A lab with one pool of the image, and a window."""
    image = versions.ami_types().get(name)
    arm, old = image is not None and image.architecture == "arm64", image is not None and image.fit.last
    return {
        "name": "gpu-lab",
        "time_zone": "Etc/UTC",
        "cluster": {"kubernetes_version": old or "1.34"},
        "pools": {
            "gpu": {
                "instance_type": "g5g.xlarge" if arm else "g5.xlarge",
                "max_nodes": 1,
                "price_per_hour": "1.5",
                **IMAGES[name],
            }
        },
        "windows": [{"name": "late", "days": ["wed"], "start": "20:00", "end": "22:00", "nodes": 1}],
        "slack": SLACK,
    }


@pytest.fixture(params=IMAGES)
def document(request: pytest.FixtureRequest) -> dict[str, Any]:
    return lab_of(request.param)


@pytest.fixture
def seen(document: dict[str, Any]) -> Iterator[Seen]:
    with World(document, BEGINS) as world:
        chat = Chat(world)
        chat.types(TEACHER, "open gpu 1 for 1h")
        world.machines.changed.append(lambda machine: setattr(machine, "gpus_after", 10.0))
        world.run(timedelta(minutes=40))
        ledger = Ledger("gpu-lab-ledger")
        [lease] = ledger.leases("gpu")
        assert lease.state is LeaseState.OPEN
        open_ = views(world, chat)
        world.run(timedelta(hours=1))
        [receipt] = ledger.receipts("gpu", 2)
        view = receipt_of(ledger, world.lab, receipt)
        page = receipt_page.page(view, world.lab.name, world.lab.region, wording.of(world.lab))
        yield Seen(open_, views(world, chat), receipt, said(page))


def views(world: World, chat: Chat) -> Views:
    ledger = Ledger("gpu-lab-ledger")
    chat.types(TEACHER, "status")
    [pool] = with_sizes(world.lab, ViewReading(ledger, world.lab, world.now), ["gpu"])
    page = lab_page.page(read_lab(ledger, world.lab, world.now), wording.of(world.lab))
    return Views(pool, chat.said[-1], said(page))


def test_check_and_simulate_take_the_lab_and_name_the_image(document: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(json.dumps(document), "utf-8")

    checked = lamplighter("check", cwd=tmp_path)
    days = ("--from", "2026-11-23T00:00:00Z", "--to", "2026-11-30T00:00:00Z")
    simulated = lamplighter("simulate", *days, "--json", "-", cwd=tmp_path)

    assert (checked.returncode, checked.stderr) == (0, "")
    pool = document["pools"]["gpu"]
    # The default is the image of every lab, so it is not said.
    assert pool.get("image", pool["ami_type"]) in checked.stdout or pool["ami_type"] == DEFAULT
    [opened] = json.loads(simulated.stdout)["windows"]
    assert (simulated.returncode, opened["pool"], opened["nodes"]) == (0, "gpu", 1)


def test_a_lease_is_seen_as_on_any_other_image(seen: Seen) -> None:
    opened, closed = seen.open, seen.closed

    [lease] = opened.status.leases
    assert (opened.status.desired, lease.verdict, closed.status.desired) == (1, Outcome.PASSED, 0)
    assert "*gpu* is open until 21:00 (Etc/UTC) with 1 node, for utom." in opened.slack
    assert "*gpu* is closed." in closed.slack
    assert f"{opened.status.instance_type}, at most 1 node" in opened.page
    assert (seen.receipt["proof_of_zero"]["instances"], closed.status.leases) == ([], ())
    assert "GPUs proven" in seen.receipt_page
    assert "Zero nodes proven" in seen.receipt_page
