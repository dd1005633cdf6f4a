"""Lab files as people write them: what is read, and every problem with its line."""

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from lamplighter.errors import BadInput
from lamplighter.lab.model import Lab
from lamplighter.labfile.file import Problem, load, parse, read


def lab(text: str) -> Lab:
    found = parse(text)
    assert isinstance(found, Lab), found
    return found


def problems(text: str) -> list[str]:
    found = parse(text, "f")
    assert isinstance(found, list), f"this lab is good: {found}"
    return [str(problem) for problem in found]


def window(rest: str) -> str:
    return f"name: x\nguard: {{longest_lease: 24h}}\nwindows:\n- {{name: w, {rest}}}\n"


# --- what is read --------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [
    "name: x",
    "name: x\npools: null\nguard: {budget: {amount: null}}\nwindows: ~\nslack:\ntime_zone:\nexcept: null\n",
    "name: x\npools:\n  gpu:\n",
])  # fmt: skip
def test_what_is_left_out_null_or_only_named_is_the_default_lab_s(text: str) -> None:
    assert lab(text) == Lab(name="x")


@pytest.mark.parametrize(
    "text", ["\ufeffname: x\n", "name: x\r\nregion: us-east-1\r\n", "---\nname: x\n...\n"]
)
def test_byte_order_marks_and_line_ends_do_not_matter(text: str) -> None:
    assert lab(text).name == "x"


def test_times_dates_and_durations_need_no_quotes() -> None:
    text = window("days: [tue, thu], start: 20:00, end: 24:00, from: 2026-03-02, until: '2026-06-19'")
    found = lab(text).windows[0]
    assert (found.start, found.end) == (1200, 1440)
    assert (found.from_, found.until) == (date(2026, 3, 2), date(2026, 6, 19))


def test_a_time_is_no_number_in_base_sixty_even_under_an_old_directive() -> None:
    text = "%YAML 1.1\n---\n" + window("days: daily, start: 10:30, end: 12:00")
    assert lab(text).windows[0].start == 630


def test_money_is_read_as_written() -> None:
    text = "name: x\npools: {gpu: {price_per_hour: 0.1000000000000000055511151231257827}}\n"
    assert lab(text).pools["gpu"].price_per_hour == Decimal("0.1000000000000000055511151231257827")
    assert lab("name: x\nguard: {budget: {amount: 1e3}}").guard.budget.amount == 1000


def test_a_version_keeps_its_zero() -> None:
    text = "name: x\ncluster: {kubernetes_version: 1.30}\ngpu_operator: {version: v25.3.1}"
    assert lab(text).cluster.kubernetes_version == "1.30"


def test_a_word_may_stand_for_a_list_of_one() -> None:
    found = lab(window("dates: 2026-12-01, start: 20:00, end: 21:00, except: 2026-12-01")).windows[0]
    assert found.start_dates == found.except_ == [date(2026, 12, 1)]


def test_repeats_count_once() -> None:
    found = lab(window("dates: [2026-12-02, 2026-12-01, 2026-12-02], start: 20:00, end: 21:00")).windows[0]
    assert found.start_dates == [date(2026, 12, 1), date(2026, 12, 2)]


def test_aliases_repeat_what_an_anchor_names() -> None:
    assert lab(
        "name: x\nexcept: &holidays [2026-12-25]\nwindows:\n- {name: w, days: daily, start: 01:00, "
        "end: 02:00, except: *holidays}\n"
    ).windows[0].except_ == [date(2026, 12, 25)]


def test_a_short_longest_lease_shortens_what_open_grants_unasked() -> None:
    assert lab("name: x\nguard: {longest_lease: 30m}").guard.default_lease == timedelta(minutes=30)


def test_mappings_are_completed_and_lists_replaced() -> None:
    found = lab(
        "name: x\ntags: {Team: ml}\ngpu_operator: {values: {dcgm: {enabled: true}, driver: {x: 1.5}}}\n"
        "pools: {gpu: {labels: {a: b}, packages: [jq]}}\n"
    )
    assert found.tags["Team"] == "ml"
    assert found.tags["Environment"] == "cloudneta-lab"
    assert found.gpu_operator.values["driver"] == {"enabled": False, "x": 1.5}
    assert found.pools["gpu"].labels == {"tier": "gpu", "nvidia.com/gpu": "true", "a": "b"}
    assert found.pools["gpu"].packages == ["jq"]


def test_an_adopted_pool_takes_nothing_from_the_default_lab() -> None:
    pool = lab("name: x\ncluster: {existing: c}\npools: {gpu: {existing: ng, max_nodes: 3}}").pools["gpu"]
    assert pool.unstated == ["instance_type", "ami_type", "disk_gib"]
    assert (pool.instance_type, pool.max_nodes, pool.taints) == ("", 3, [])


# --- the file itself -----------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "said"), [
    ("", "f:1: name: is missing, write name: gpu-lab"),
    ("# nothing\n", "f:1: name: is missing, write name: gpu-lab"),
    ("- a\n", "f:1: lab: is a list, write a mapping of keys such as name and pools"),
    ("x\n", 'f:1: lab: is "x", write a mapping of keys such as name and pools'),
    ("name: x\n---\nname: y\n", "f:2: lab: begins a second document, keep one in a file"),
    ("name: x\n---\n", "f:2: lab: begins a second document, keep one in a file"),
    ("name: x\nregion: a: b\n", "f:2: lab: is not YAML at column 10: mapping values are not allowed here"),
    ("name: x\npools:\n\tgpu: {}\n", "f:3: lab: is not YAML at column 1: found a tab, indent with spaces"),
    ('a: 1\nname: "x\nb: 1\n',
     "f:2: lab: is not YAML at column 7: the bracket or quote that opens here is never closed, close it"),
    ("name: x\nowner: a\x07b\n", "f:2: lab: has the character U+0007, which YAML does not allow"),
    ("name: !!str x\n", 'f:1: name: has the tag "tag:yaml.org,2002:str", write the value without a tag'),
    ("name: x\nname: y\n", "f:2: name: is written twice, first in line 1; keep one"),
    ("name: *x\n", "f:1: name: is the alias *x, but nothing before it has that anchor"),
    ("name: x\n? [a]\n: b\n", "f:2: lab: has a key that is not a word, write a word before the colon"),
    ("name: x\n<<: {region: us-east-1}\n",
     'f:2: "<<": is a merge key, which YAML 1.2 does not have; write its keys out'),
])  # fmt: skip
def test_what_is_no_lab_file(text: str, said: str) -> None:
    assert said in problems(text)


def test_duplicates_are_found_in_every_depth() -> None:
    text = "name: x\npools:\n  gpu:\n    max_nodes: 1\n    max_nodes: 2\ntags: {a: b, a: c}\n"
    assert [line.split(": is written")[0] for line in problems(text)] == [
        "f:5: pools.gpu.max_nodes",
        "f:6: tags.a",
    ]


def test_wild_files_are_refused_quickly() -> None:
    assert "nested deeper than 40 levels" in problems("a: " + "[" * 5000)[0]
    bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
    bomb += "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
    assert any("by alias" in line for line in problems(bomb))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    def said(path: Path) -> str:
        found = read(path)
        assert isinstance(found, list)
        (problem,) = found
        assert (problem.line, problem.key) == (1, "lab")
        return problem.text

    assert said(tmp_path / "none.yaml") == "is missing, name a lab file with --lab"
    assert said(tmp_path) == "is a folder, name a lab file with --lab"
    (tmp_path / "latin").write_bytes("name: x\nowner: Jürgen".encode("latin-1"))
    found = read(tmp_path / "latin")
    assert isinstance(found, list)
    assert str(found[0]) == f"{tmp_path}/latin:2: lab: is not UTF-8 at byte 16, save it as UTF-8"
    (tmp_path / "large").write_bytes(b"name: x\n#" + b"x" * 256 * 1024)
    assert said(tmp_path / "large") == "is larger than 256 KiB, keep it smaller"
    (tmp_path / "just").write_bytes(b"name: x\n#" + b"x" * (256 * 1024 - 9))
    assert isinstance(read(tmp_path / "just"), Lab)


def test_load_says_all_problems_in_one_error(tmp_path: Path) -> None:
    path = tmp_path / "lab.yaml"
    path.write_text("nam: x\nregoin: y\n")
    with pytest.raises(BadInput) as refused:
        load(path)
    assert len(str(refused.value).splitlines()) == 3


# --- keys and values -----------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "said"), [
    ("name: X\n", 'f:1: name: is "X", begin with a letter a to z, then at most 39 of a to z, 0 to 9 and -'),
    ("name: x\nregoin: a\n", "f:2: regoin: is no known key, the nearest known one is region"),
    ("name: x\nbudget: {amount: 1}\n", "f:2: budget: is no known key, the nearest known one is guard.budget"),
    ("name: x\npools: {gpu: {max_size: 1}}\n",
     "f:2: pools.gpu.max_size: is no known key, the nearest known one is max_nodes"),
    ("name: x\npools: {gpu: {minSize: 1}}\n",
     "f:2: pools.gpu.minSize: is no known key; leave it out: a pool has nodes only while it is open"),
    *((f"name: x\npools: {{gpu: {{{key}: {value}}}}}\n",
       (f"f:2: pools.gpu.{key}: is no known key; leave it out: a lab has no warm pools, since a stopped node holds no"
        " capacity and a running one needs a lease; write ready: by in the window"))
      for key, value in (("warm", "1"), ("warm_pool", "{min_size: 1}"), ("warmPoolConfig", "{enabled: true}"))),
    ("name: x\nguard: {max_duration: 6h}\n",
     "f:2: guard.max_duration: is no known key, the nearest known one is longest_lease"),
    ("name: x\nmax_duration: 6h\n",
     "f:2: max_duration: is no known key, the nearest known one is guard.longest_lease"),
    ("name: x\nguard: {zebra: 6h}\n",
     "f:2: guard.zebra: is no known key; `lamplighter check --schema` prints the known ones"),
    ("name: x\npools: {gpu: {max_nods: 1}}\n",
     "f:2: pools.gpu.max_nods: is no known key, the nearest known one is max_nodes"),
    ("name: x\npools: {gpu: {max_nodes: true}}\n",
     "f:2: pools.gpu.max_nodes: is true, write a whole number from 1 to 100"),
    ('name: x\npools: {gpu: {max_nodes: "2"}}\n',
     'f:2: pools.gpu.max_nodes: is "2", write a whole number from 1 to 100 without quotes'),
    ("name: x\npools: {gpu: {max_nodes: 0}}\n", "f:2: pools.gpu.max_nodes: is 0, write a whole number from 1 to 100"),
    ("name: x\npools: {gpu: {max_nodes: 2.0}}\n",
     "f:2: pools.gpu.max_nodes: is 2.0, write a whole number from 1 to 100"),
    ("name: x\npools: {}\n", "f:2: pools: is empty, write at least one"),
    ("name: x\nguard: {budget: {amount: true}}\n",
     "f:2: guard.budget.amount: is true, write an amount from 0 to 1000000000 such as 120 or 1.237"),
    ("name: x\nguard: {longest_lease: 8}\n",
     "f:2: guard.longest_lease: is 8, write a duration such as 8h, 90m or 1h30m"),
    ("name: x\nowner: 5\n", 'f:2: owner: is 5, write text, in quotes: "5"'),
    ("name: x\nwindows: {}\n", "f:2: windows: is a mapping, write a list of mappings"),
    ("name: x\nsecurity_groups: {aux_vpc_allow: yes}\n",
     'f:2: security_groups.aux_vpc_allow: is "yes", write true or false'),
    ("name: x\nguard: {mode: watching}\n",
     'f:2: guard.mode: is "watching", write one of watch, enforce; the nearest is watch'),
])  # fmt: skip
def test_a_wrong_value_is_said_with_what_would_be_right(text: str, said: str) -> None:
    assert problems(text) == [said]


@pytest.mark.parametrize(
    "amount", ["-1", "1000000001", ".inf", ".nan", '"1_000"', '" 1"', '"\u0661"', "[1]", "1e99999999"]
)
def test_amounts_are_finite_and_from_0_to_a_billion(amount: str) -> None:
    assert "guard.budget.amount: is " in problems(f"name: x\nguard: {{budget: {{amount: {amount}}}}}")[0]


@pytest.mark.parametrize(
    "time", ["8:00", "24:01", "25:00", "20:00:00", "2000", '"20:00 "', "1200", "20:60", "noon"]
)
def test_times_are_exactly_hours_and_minutes(time: str) -> None:
    assert len(problems(window(f"days: daily, start: {time}, end: 23:30"))) == 1
    assert problems(window("days: daily, start: 24:00, end: 23:30"))


@pytest.mark.parametrize(
    "day", ["2026-2-01", "2026-02-30", "2025-02-29", "20260201", "2026-02-01T00:00:00Z", "1"]
)
def test_dates_are_days_that_exist(day: str) -> None:
    assert len(problems(window(f"dates: [{day}], start: 10:00, end: 11:00"))) == 1


@pytest.mark.parametrize(
    "length", ["0h", "0m", "8", "8H", "1.5h", "90", "h", "1m1h", '""', "99999h", "9" * 5000 + "h"]
)
def test_durations_are_hours_and_minutes(length: str) -> None:
    assert problems(f"name: x\nguard: {{longest_lease: {length}}}")[0].startswith(
        "f:2: guard.longest_lease: is "
    )


def test_values_are_cut_at_80_characters_and_stay_on_their_line() -> None:
    said = problems('name: "' + "a" * 500 + '"')[0]
    assert len(said.split("is ")[1].split(",")[0]) == 80
    assert len(problems('name: "a\\nb\\u2028c\\e"')) == 1
    assert "\n" not in problems('name: "a\\nb\\u2028c\\e"')[0]


def test_keys_are_cut_too_and_odd_ones_quoted() -> None:
    assert len(problems(f"name: x\n{'k' * 300}: 1")[0].split(": ")[1]) == 80
    assert problems('name: x\n"a: b\\n": 1')[0].startswith('f:2: "a: b\\n": is no known key')


def test_every_problem_is_told_at_once_and_none_for_its_echo() -> None:
    text = """\
name: x
time_zone: Asia/Soul
pools:
  gpu: {max_nodes: zwei}
windows:
  - name: a
    pool: gpu
    nodes: 50
    days: [tue]
    start: 20:00
    end: 20:00
  - name: a
    pool: cpu
    days: fryday
    dates: [2026-01-01]
    start: 9
    end: 23:00
except: [tomorrow]
"""
    assert [line.split(": ")[0] + " " + line.split(": ")[1] for line in problems(text)] == [
        "f:2 time_zone",
        "f:4 pools.gpu.max_nodes",
        "f:11 windows.0.end",
        "f:12 windows.1.name",
        "f:13 windows.1.pool",
        "f:14 windows.1.days",
        "f:16 windows.1.start",
        "f:18 except.0",
    ]


def test_a_problem_is_one_line() -> None:
    assert str(Problem("lab.yaml", 3, "name", "is wrong")) == "lab.yaml:3: name: is wrong"


def test_a_problem_stays_one_line_whatever_it_quotes() -> None:
    found = parse("*a\u2028", "lab.yaml")
    assert not isinstance(found, Lab)
    assert [len(str(problem).splitlines()) for problem in found] == [1]
