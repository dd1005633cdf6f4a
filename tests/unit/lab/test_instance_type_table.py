"""The table of instance types is what EC2 says of them, and has the families that EKS knows today."""

from docs.instance_types import FILE, text
from lamplighter.data.instance_types import gpu_type, quota_code


def test_the_table_is_what_its_script_writes() -> None:
    assert FILE.read_text("utf-8") == text()


def test_a_part_of_a_gpu_is_one_device() -> None:
    part = gpu_type("g6f.large")
    assert part is not None
    assert (part.gpus, part.model, quota_code("g6f.large")) == (1, "L4", "L-DB2E81BA")
