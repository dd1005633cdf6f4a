"""Output of GPU tools, written after published transcripts: one healthy sample of each, and functions to build more.

Only data; the tests assert its meaning.
"""

import json
from collections.abc import Sequence

SMI_HEADER = (
    "name, driver_version, uuid, ecc.errors.uncorrected.volatile.total, remapped_rows.pending, "
    "remapped_rows.failure, clocks_event_reasons.active"
)


def smi_row(
    *,
    name: str = "NVIDIA A10G",
    driver: str = "580.159.03",
    uuid: str = "GPU-8f6d2f2e-1d0b-4c3c-9a51-0d6a3a2b7e11",
    ecc: str = "0",
    remap: str = "No",
    remap_failed: str = "No",
    events: str = "0x0000000000000000",
) -> str:
    return f"{name}, {driver}, {uuid}, {ecc}, {remap}, {remap_failed}, {events}"


def smi(*rows: str, header: str = SMI_HEADER) -> str:
    return "\n".join([header, *(rows or (smi_row(),))]) + "\n"


def uuid(number: int) -> str:
    return f"GPU-8f6d2f2e-1d0b-4c3c-9a51-{number:012x}"


def nvlink(links: int = 18, speed: str = "26.562", gpus: int = 8, name: str = "NVIDIA H100 80GB HBM3") -> str:
    """As `nvidia-smi nvlink --status` prints links that are up (NVIDIA/k8s-test-infra issue 371)."""
    each = "\n".join(f"\t Link {link}: {speed} GB/s" for link in range(links))
    return "".join(f"GPU {number}: {name} (UUID: {uuid(number)})\n{each}\n" for number in range(gpus))


NCCL_HEADER = """\
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""


def nccl_row(
    size: int, busbw: str = "1.17", wrong: str = "0", in_place: str = "1.16", wrong_2: str = "0"
) -> str:
    return (
        f"{size:>12}{size // 4:>14}     float     sum      -1   {size // 1170}   1.17   {busbw}  {wrong:>5}"
        f"   {size // 1160}   1.16   {in_place}  {wrong_2:>5}"
    )


def nccl(
    rows: Sequence[str] | None = None,
    ranks: int = 2,
    max_bytes: int = 268435456,
    bounds: str = "# Out of bounds values : 0 OK",
) -> str:
    found = [nccl_row(67108864), nccl_row(134217728), nccl_row(268435456)] if rows is None else rows
    hosts = "\n".join(
        f"#  Rank {rank:>2} Group  0 Pid {100 + rank:>6} on nccl-{rank} device  0 [0x00] NVIDIA A10G"
        for rank in range(ranks)
    )
    return (
        "# Collective test starting: all_reduce_perf\n"
        f"# nThread 1 nGpus 1 minBytes 67108864 maxBytes {max_bytes} step: 2(factor) warmup iters: 5 iters: 20 "
        "agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n"
        f"{hosts}\n#\n{NCCL_HEADER}" + "".join(f"{row}\n" for row in found) + f"{bounds}\n"
        "# Avg bus bandwidth    : 1.165\n#\n# Collective test concluded: all_reduce_perf\n#\n"
    )


def torch(busbw: str = "1.160") -> str:
    """The output of our torchrun check: in place only, with NCCL's own lines around it."""
    row = (
        f"{268435456:>12}{67108864:>14}     float     sum      -1      N/A     N/A     N/A    N/A"
        f" 231411.6   {busbw}   {busbw}      0"
    )
    return "all-reduce-0:1:1 [0] NCCL INFO Bootstrap : Using eth0\n" + nccl([row])


def dcgm_result(gpu: int, status: str = "Pass", severity: int | None = None) -> dict[str, object]:
    result: dict[str, object] = {
        "entity_group": "GPU",
        "entity_group_id": 1,
        "entity_id": gpu,
        "status": status,
    }
    if severity is not None:
        result["warnings"] = [
            {"error_category": 1, "error_id": 40, "error_severity": severity, "warning": "It is not right."}
        ]
    return result


def dcgm_v4(*results: dict[str, object], summary: str | None = None, name: str = "memory") -> str:
    """Version 4: a software test that passed on every GPU of the results, and one with the results."""
    gpus = sorted({int(str(result["entity_id"])) for result in results}) or [0]
    software = [dcgm_result(gpu) for gpu in gpus]
    statuses = [str(result["status"]) for result in results] or ["Pass"]
    worst = "Fail" if "Fail" in statuses else "Pass" if "Pass" in statuses else statuses[0]
    document = {
        "DCGM Diagnostic": {
            "test_categories": [
                {"category": "Deployment", "tests": [_test("software", software, "Pass")]},
                {"category": "Hardware", "tests": [_test(name, list(results) or software, summary or worst)]},
            ]
        },
        "entity_groups": [
            {"entity_group": "GPU", "entity_group_id": 1, "entities": [{"entity_id": gpu} for gpu in gpus]}
        ],
        "metadata": {"version": "4.5.2", "Driver Version Detected": "580.159.03"},
    }
    return json.dumps(document, indent=2) + "\n"


def _test(name: str, results: list[dict[str, object]], summary: str) -> dict[str, object]:
    return {"name": name, "results": results, "test_summary": {"status": summary}}


def dcgm_v3(gpus: int = 1, status: str = "PASS") -> str:
    """Version 3: lists of ids as text, and null for tests that did not run."""
    ids = ",".join(str(gpu) for gpu in range(gpus))
    document = {
        "DCGM GPU Diagnostic": {
            "test_categories": [
                {
                    "category": "Deployment",
                    "tests": [
                        {"name": "Denylist", "results": [{"gpu_ids": ids, "status": "PASS"}]},
                        None,
                        {"name": "NVML Library", "results": [{"gpu_ids": ids, "status": status}]},
                    ],
                }
            ],
            "version": "3.3.5",
        }
    }
    return json.dumps(document, indent="\t") + "\n"


def dcgmi_v3(*statuses: str, deployment: str = "Pass") -> str:
    """Version 3 as `dcgmi` writes it: software of the whole node without ids, then a test on each GPU.

    A status left empty leaves null, as for a GPU on which the test did not run.
    """
    memory = [
        {"gpu_ids": str(gpu), "status": status} if status else None for gpu, status in enumerate(statuses)
    ]
    document = {
        "DCGM GPU Diagnostic": {
            "test_categories": [
                {
                    "category": "Deployment",
                    "tests": [{"name": "Denylist", "results": [{"status": deployment}]}],
                },
                {"category": "Hardware", "tests": [{"name": "GPU Memory", "results": memory}]},
            ]
        }
    }
    return json.dumps(document, indent="\t") + "\n"


VECTOR_ADD = """\
[Vector addition of 50000 elements]
Copy input data from the host memory to the CUDA device
CUDA kernel launch with 196 blocks of 256 threads
Copy output data from the CUDA device to the host memory
Test PASSED
Done
"""
