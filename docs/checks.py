"""The reference page of the ladder of checks, from its own tables: checks, images, thresholds and their sources."""

import json
from collections.abc import Iterator
from importlib.resources import files

from lamplighter.domain.checks.ladder import BUDGETS, DCGM_4, LADDERS, LEVEL_4_SECONDS, Check
from lamplighter.domain.checks.manifests import PULL_SECONDS
from lamplighter.domain.checks.time_limit import SET_UP_AT_MOST, THERE_BEFORE
from lamplighter.domain.gpu import instance_types as gpus

HEAD = """# The ladder of checks

Generated from the program by `make docs`. A lease counts as open when its GPUs have passed these checks.
`checks.ladder` of the lab, or of a window, selects the ladder. See
[how to choose one](../../how-to/plan/choose-a-ladder.md) and
[why the operator's own check is not enough](../../explanation/ready.md).

A verdict is `passed` only on evidence. It is `failed` with the measured and the required value. It is `not-proven` in
every other case: the output is missing, incomplete, or from another tool or version; the tool exited with an error; or
the time budget was over. If a tool reports a failure, its figures never overrule that. Such reports are its own
`FAILED`, its warning about a GPU, and a crash of one of its processes. The overall verdict is `failed` if one check
failed, and `passed` if all passed. A check that cannot run is listed as not judged and changes nothing. An example is a
collective with only one node. Another is `validator`, the validation of the GPU Operator: with the operator, a node
takes no check before it. On a pool without the operator it is listed as *not proven: no GPU Operator*.
"""

#: The condition of each check; checks without a pod first.
PASSES = {
    "allocatable": "the node offers every GPU of its instance type, times the number of parts of each GPU",
    "efa": "with `efa: true`: the node offers every EFA device of its instance type (`vpc.amazonaws.com/efa`)",
    "labels": "GPU feature discovery found the right model, the right count and a driver; not judged without it",
    "nvidia-smi": "every GPU exists, with the right model and its own UUID",
    "vectoradd": "`Test PASSED`: a kernel ran and its sums are correct",
    "gpu-health": "no uncorrected ECC error, no row remapping that is pending or failed; only idleness or the GPU's own"
    " power limit lowers the clocks",
    "fabric": "on p5 and p6 with several GPUs: Fabric Manager has set up the NVSwitches (`Completed`, `Success`)",
    "nvlink": "on p4, p5 and p6 with several GPUs: `nvidia-smi nvlink --status` lists every NVLink of every GPU as up,"
    " at least at the speed in the table below; not judged with MIG or MPS",
    "dcgm-1": "`dcgmi diag -r 1`: no Fail, and a Pass for every GPU",
    "dcgm-2": "`dcgmi diag -r 2`: the same",
    "dcgm-3": "`dcgmi diag -r 3`, with its two targeted tests limited to 30 s each: the same",
    "dcgm-4": "`dcgmi diag -r 4`, only with `checks.dcgm_level_4`: the same",
    "all_reduce_node": "all GPUs of one node, on types with several, 1 MiB to 1 GiB: no wrong value, and at the largest"
    " size at least the published bus bandwidth of such a machine, which NVLinks that are down do not reach; where none"
    " is published, at least that of two nodes over TCP",
    "all_reduce": "two nodes, 1 MiB to 256 MiB (1 GiB in `deep`): no wrong value, and at the largest size at least the"
    " bus bandwidth of the instance type. With `efa: true` on p4, p5 and p6, NCCL also has to say that it talked over"
    " EFA (or be faster than TCP can be); over TCP it is not proven",
    "all_gather": "the same for all_gather, 1 MiB to 256 MiB",
    "sustained": "the same for five minutes of all_reduce at 256 MiB, judged by its slowest 30 seconds",
    "xid": "no XID in the device plugin's log since the node came for which NVIDIA's table asks for a reset, a reboot"
    " or a new machine, and none from the node monitoring agent; an XID that the table does not have is not proven",
}
WITHOUT_A_POD = ("allocatable", "efa", "labels", "xid")

RULES = f"""## Time

- A ladder's time budget starts when the node is Ready. The set-up of the GPUs takes a part of it, at most
  {int(SET_UP_AT_MOST.total_seconds())} s. If a node has been Ready for {int(THERE_BEFORE.total_seconds()) // 60}
  minutes, it counts as an old node, and its budget starts with its first check. A check that does not end within the
  budget is not proven, with the reason.
- **Image pulls do not count.** The first check that needs an image shows its pull as `pull_seconds`. The images of the
  first checks are pulled during the set-up of the GPUs, and the images of later checks while the first checks run. A
  pull while a check runs gives that check no extra time. After {PULL_SECONDS // 60} minutes the ladder stops waiting
  for an image.
- Each check has its own time limit from the start of its container. So a slow registry never looks like a slow GPU. The
  pod's own deadline includes the pull. It only matters if no function watches the pod any more.
- The ladder checks nodes in parallel, and the stages of one node in order. If a check of a node does not pass, the
  later checks of this node do not run. If a path between nodes does not work, only the checks that need it do not run.
  Pairs of nodes also run in parallel. A node without a partner pairs with the first node.

## What runs

- Checks are ordinary pods and Jobs in the namespace `lamplighter`: no privilege, no capability, no host path, no token.
  DCGM and PyTorch run as the user of their images, which is root inside the container.
- A pod names its node, so no autoscaler adds one. It tolerates the pool's taints and no others.
- A GPU with time slices is tested as one GPU. DCGM from level 2 on and collectives need whole GPUs. With MPS or MIG
  they are not judged, and with time slices `all_reduce_node` is not.
- Of three or more nodes of one type, the slowest is named with its distance, where it is at least 10 % behind the
  median of the others. That changes no verdict: a floor finds a broken node, this one finds a slow one.
- A collective between two nodes is an Indexed Job of two pods. They connect through a headless Service with `torchrun`,
  without MPI. It prints the table of nccl-tests. If the ranks do not connect and NCCL prints nothing, the path between
  the nodes is blocked.
- With `efa: true` each of the two pods takes its GPU's share of the node's EFA devices, and up to 5120 MiB of its huge
  pages. EKS's AL2023 images reserve them as EFA's installer does, 220 MiB for each vCPU; Bottlerocket reserves none. A
  node is ready for its checks when its plugin has announced every device.
- Checks never run beside the operator's own validation, which takes a GPU. They never displace other people's work; the
  verdict names that work.
- Lamplighter deletes all objects of the checks when the ladder is over, when the lease ends, and when it closes. The
  next run in the pool also deletes the objects of a run that crashed.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_ladders(), RULES, *_images(), *_thresholds()]).rstrip() + "\n"


def _ladders() -> Iterator[str]:
    yield "| check | smoke | standard | deep | takes | at most | passes when |"
    yield "|---|---|---|---|---|---|---|"
    budgets = " | ".join(f"{seconds // 60} min" for seconds in BUDGETS.values())
    yield f"| **budget** | {budgets} | | | |"
    by_name = {check.name: check for check in (*LADDERS["deep"], *LADDERS["standard"], DCGM_4)}
    for name, passes in PASSES.items():
        check = by_name.get(name)
        marks = " | ".join(_mark(name, ladder) for ladder in LADDERS)
        takes = _takes(check) if check else "no pod"
        most = _lasting(check.seconds) if check else ""
        yield f"| `{name}` | {marks} | {takes} | {most} | {passes} |"
    yield ""
    yield (
        f"`dcgm-4` adds {LEVEL_4_SECONDS // 60} minutes to the budget of `deep`. `all_reduce` up to 1 GiB may take"
        f" {_lasting(max(one.seconds for one in LADDERS['deep'] if one.name == 'all_reduce'))}."
    )
    yield ""


def _mark(name: str, ladder: str) -> str:
    if name == DCGM_4.name:
        return "opt-in" if ladder == "deep" else ""
    return "yes" if name in WITHOUT_A_POD or any(check.name == name for check in LADDERS[ladder]) else ""


def _takes(check: Check) -> str:
    if check.nodes > 1:
        return "one GPU on each of two nodes"
    return "all GPUs" if check.all_gpus else "one GPU"


def _lasting(seconds: int) -> str:
    minutes, left = divmod(seconds, 60)
    return f"{minutes} min" if minutes and not left else f"{seconds} s"


def _images() -> Iterator[str]:
    document = json.loads(files("lamplighter.data.gpu").joinpath("images.json").read_text("utf-8"))
    yield f"## Images\n\nRead {document['read']}. {document['note']}\n"
    yield "| image | what | source |\n|---|---|---|"
    for row in document["images"].values():
        yield f"| `{row['image']}` | {row['what']} | {row['source']} |"
    yield ""


def _thresholds() -> Iterator[str]:
    document = json.loads(files("lamplighter.data.gpu").joinpath("thresholds.json").read_text("utf-8"))
    yield "## Thresholds\n"
    yield (
        f"Read {document['read']}. `checks.thresholds` of the lab overrides the bus bandwidth of a type between"
        " nodes. A type that is not in this table is not proven.\n"
    )
    yield "| figure | unit | highest allowed value | source |\n|---|---|---|---|"
    for name, figure in gpus.figures().items():
        yield f"| `{name}` | {figure.unit} | {figure.most or ''} | {figure.source} |"
    yield "\n| families | nodes | ranks | measured, GB/s | floor, GB/s | source |\n|---|---|---|---|---|---|"
    for row in document["collectives"]:
        figures = f"{row['nodes']} | {row['ranks']} | {row['measured']} | {row['floor']} | {row['source']}"
        yield f"| {row['families']} | {figures} |"
    yield (
        "\n| instance type | GPUs | model | NVLinks of a GPU, at least GB/s each |"
        " bus bandwidth over TCP, GB/s (estimate) |\n|---|---|---|---|---|"
    )
    for name, kind in gpus.types().items():
        nvlinks = f"{kind.nvlinks} x {kind.nvlink_floor:g}" if kind.nvlinks else ""
        yield f"| {name} | {kind.count} | {kind.names[0]} | {nvlinks} | {kind.busbw_floor} |"
