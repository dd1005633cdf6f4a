"""`lamplighter check` and `simulate` as a stranger meets them: what they print, where, and how they end."""

import json
import os
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.programs import lamplighter

EVENING = """\
name: x
windows:
  - {name: evening, days: [tue, thu], start: 20:00, end: 23:00, except: [2026-03-05]}
  - {name: late, days: [tue], start: 22:00, end: 24:00, nodes: 1}
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "lab.yaml").write_text(EVENING)
    return tmp_path


def simulate(here: Path, begin: str, end: str, *more: str) -> CompletedProcess[str]:
    return lamplighter("simulate", "--from", begin, "--to", end, *more, cwd=here)


def test_check_of_a_good_lab_says_what_it_is(here: Path) -> None:
    done = lamplighter("check", cwd=here)
    assert (done.returncode, done.stderr) == (0, "")
    assert "window evening: tue, thu, 20:00 to 23:00 Asia/Seoul, 2 nodes of gpu, for x" in done.stdout


def test_check_says_what_the_guard_and_the_windows_were_told(here: Path) -> None:
    (here / "lab.yaml").write_text(
        "name: x\nguard: {curfew: 04:00, budget: {owners: {class: 40}}}\n"
        "pools: {gpu: {curfew: 05:00}}\n"
        "windows: [{name: early, days: tue, start: 20:00, end: 23:00, nodes: 1, ready: by}]\n"
    )
    said = lamplighter("check", cwd=here).stdout
    assert "guard: enforce, curfew 05:00\n" in said
    assert "guard: 120 USD a month (class 40), no lease longer than 8h, curfew 04:00\n" in said
    assert "20:00 to 23:00 Asia/Seoul, GPUs ready by its start, 1 node of gpu, for x\n" in said


def test_check_of_a_bad_lab_says_every_problem_on_stderr_and_nothing_else(here: Path) -> None:
    (here / "bad.yaml").write_text("name: x\nregoin: a\npools: {gpu: {max_nodes: 0}}\n")
    done = lamplighter("check", "--lab", "bad.yaml", cwd=here)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "bad.yaml:2: regoin: is no known key, the nearest known one is region\n"
        "bad.yaml:3: pools.gpu.max_nodes: is 0, write a whole number from 1 to 100\n"
    )


def test_the_file_is_named_as_the_command_line_names_it(here: Path) -> None:
    (here / "bad.yaml").write_text("nane: x\n")
    for name in ("./bad.yaml", f"../{here.name}//bad.yaml", str(here / "bad.yaml")):
        told = lamplighter("check", "--lab", name, cwd=here).stderr.splitlines()
        assert [line[: len(name) + 3] for line in told] == [f"{name}:1:"] * 2


def test_check_prints_the_schema_without_any_lab(tmp_path: Path) -> None:
    done = lamplighter("check", "--schema", cwd=tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["required"] == ["name"]


def test_check_notes_what_is_probably_not_meant(here: Path) -> None:
    (here / "lab.yaml").write_text(
        "name: x\nwindows: [{name: w, days: mon, start: 10:00, end: 11:00, except: [2026-03-03]}]"
    )
    assert (
        "note: the exception 2026-03-03 of window w is on no day that it names"
        in lamplighter("check", cwd=here).stdout
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--lab"],
        ["check", "--bogus"],
        ["check", "extra"],
        ["check", "--lab", "none.yaml"],
        ["simulate", "--from", "2026-03-01T00:00:00Z"],
        ["bogus"],
    ],
)
def test_bad_arguments_are_one_line_on_stderr(here: Path, arguments: list[str]) -> None:
    done = lamplighter(*arguments, cwd=here)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


def test_a_week_as_the_contract_writes_it(here: Path) -> None:
    done = simulate(here, "2026-03-02T00:00:00+09:00", "2026-03-09T00:00:00+09:00", "--json", "-")
    assert (done.returncode, done.stderr) == (0, "")
    opens, closes, tuesday = "2026-03-03T11:00:00Z", "2026-03-03T14:00:00Z", "2026-03-03"
    full = (
        "pool gpu is full at 22:00 on 2026-03-03 (Asia/Seoul): the evening lease (2) and the 1 asked for "
        "would be 3 of 2 nodes"
    )
    excepted = "2026-03-05 is among the exceptions of window evening"
    of_evening, of_late = {"window": "evening", "pool": "gpu"}, {"window": "late", "pool": "gpu"}
    assert json.loads(done.stdout) == {
        "from": "2026-03-01T15:00:00Z",
        "to": "2026-03-08T15:00:00Z",
        "windows": [
            {**of_evening, "nodes": 2, "date": tuesday, "opens": opens, "closes": closes, "notes": []}
        ],
        "skipped": [
            {**of_late, "date": tuesday, "code": "pool-full", "reason": full},
            {**of_evening, "date": "2026-03-05", "code": "excepted", "reason": excepted},
        ],
        "capacity": [{"pool": "gpu", "nodes": 2, "from": opens, "to": closes}],
        "cost": [{"pool": "gpu", "node_seconds": 21600, "amount": "7.4220", "currency": "USD"}],
    }


def test_a_person_gets_a_table_and_the_document_goes_to_its_file(here: Path) -> None:
    done = simulate(here, "2026-03-02T00:00:00+09:00", "2026-03-09T00:00:00+09:00", "--json", "out.json")
    assert done.returncode == 0
    assert "Tue 2026-03-03 20:00 +09:00" in done.stdout
    assert "7.4220 USD" in done.stdout
    assert json.loads((here / "out.json").read_text())["windows"][0]["window"] == "evening"
    assert sorted(path.name for path in here.iterdir()) == ["lab.yaml", "out.json"]


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("2026-03-02", "2026-03-09T00:00:00Z"),
        ("2026-03-02T00:00:00", "2026-03-09T00:00:00Z"),
        ("2026-03-02T00:00Z", "2026-03-09T00:00:00Z"),
        ("2026-03-02T24:00:00Z", "2026-03-09T00:00:00Z"),
        ("2026-02-29T00:00:00Z", "2026-03-09T00:00:00Z"),
        ("0001-01-01T00:00:00+09:00", "2026-03-09T00:00:00Z"),
        ("2026-03-02T00:00:00Z", "2026-03-02T09:00:00+09:00"),
        ("2026-03-03T00:00:00Z", "2026-03-02T00:00:00Z"),
        ("now", "2026-03-02T00:00:00Z"),
        ("", "2026-03-02T00:00:00Z"),
        ("2026-03-02T00:00:00Z", "x\ny"),
    ],
)
def test_a_range_has_two_instants_in_order(here: Path, begin: str, end: str) -> None:
    done = simulate(here, begin, end, "--json", "out.json")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert not (here / "out.json").exists()


def test_small_letters_and_fractions_are_rfc_3339_too(here: Path) -> None:
    done = simulate(here, "2026-03-03t11:00:00.5z", "2026-03-03T14:00:00.123456789-00:00", "--json", "-")
    document = json.loads(done.stdout)
    assert (document["from"], document["to"]) == (
        "2026-03-03T11:00:00.500000Z",
        "2026-03-03T14:00:00.123456Z",
    )
    assert document["cost"][0]["node_seconds"] == 2 * (3 * 3600 - 0.5)


@pytest.mark.parametrize("out", ["none/out.json", ".", ""])
def test_an_output_that_cannot_be_written_is_bad_input(here: Path, out: str) -> None:
    done = simulate(here, "2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z", "--json", out)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert sorted(path.name for path in here.iterdir()) == ["lab.yaml"]


def test_an_output_may_be_a_device(here: Path) -> None:
    done = simulate(here, "2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z", "--json", os.devnull)
    assert done.returncode == 0
    assert not Path(os.devnull).is_file()


def test_an_adopted_pool_must_state_what_only_aws_knows(here: Path) -> None:
    (here / "lab.yaml").write_text(
        "name: x\ncluster: {existing: c}\npools: {gpu: {existing: ng}}\n"
        "windows: [{name: w, days: mon, start: 10:00, end: 11:00}]\n"
    )
    done = simulate(here, "2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "lab.yaml:3: pools.gpu.max_nodes: is left to AWS, write it to simulate",
        "lab.yaml:3: pools.gpu.price_per_hour: is left to AWS, write it to simulate",
    ]


def test_an_adopted_pool_that_never_opens_need_not_state_its_price(here: Path) -> None:
    (here / "lab.yaml").write_text("name: x\ncluster: {existing: c}\npools: {gpu: {existing: ng}}\n")
    done = simulate(here, "2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z", "--json", "-")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["cost"] == [
        {"pool": "gpu", "node_seconds": 0, "amount": "0.0000", "currency": "USD"}
    ]


def test_a_bad_lab_is_told_as_check_tells_it(here: Path) -> None:
    (here / "lab.yaml").write_text("name: x\nregoin: a\n")
    done = simulate(here, "2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == lamplighter("check", cwd=here).stderr
