"""The reference page of the ladder of checks, from its own tables: checks, images, thresholds and their sources."""

import json
from collections.abc import Iterator
from importlib.resources import files

from lamplighter.domain.checks.ladder import BUDGETS, DCGM_4, LADDERS, LEVEL_4_SECONDS, Check
from lamplighter.domain.checks.manifests import PULL_SECONDS
from lamplighter.domain.checks.time_limit import SET_UP_AT_MOST, THERE_BEFORE
from lamplighter.domain.gpu import instance_types as gpus

HEAD = """# The ladder of checks

Generated from the program by `make docs`. What a lease's GPUs have to show before it counts as open;
`checks.ladder` of the lab, or of a window, says how much. See [how to choose one](../../how-to/plan/choose-a-ladder.md)
and [why the operator's own word is not enough](../../explanation/ready.md).

A verdict is `passed` on evidence only, `failed` with what was measured and what is needed, and `not-proven` in
every other case: nothing was printed, it breaks off, it is another tool's or another version's, a tool ended
badly, a budget was over. What a tool says against itself is never overruled, whatever its figures are: its own
`FAILED`, its warning of a GPU, a process of it that crashed. The whole is failed where one failed, and passed where
all passed. What cannot be judged of anybody, such as a collective where there is one node, is listed as not judged
and changes nothing.
"""

#: What has to hold, by check; those without a pod first.
PASSES = {
    "allocatable": "the node offers every GPU of its instance type, times the parts each is handed out in",
    "labels": "GPU feature discovery found that model, that count and a driver; not judged where it does not run",
    "nvidia-smi": "every GPU is there, of the right model, each with its own UUID",
    "vectoradd": "`Test PASSED`: a kernel ran and its sums are right",
    "gpu-health": "no uncorrected ECC error, no row remapping pending, clocks held down by nothing but idleness or the"
    " GPU's own power limit",
    "dcgm-1": "`dcgmi diag -r 1`: no Fail, and a Pass for every GPU",
    "dcgm-2": "`dcgmi diag -r 2`: the same",
    "dcgm-3": "`dcgmi diag -r 3`, its two targeted tests cut to 30 s each: the same",
    "dcgm-4": "`dcgmi diag -r 4`, only with `checks.dcgm_level_4`: the same",
    "all_reduce": "two nodes, 1 MiB to 256 MiB (1 GiB in `deep`): no wrong value, and at the largest size at least the"
    " type's bus bandwidth",
    "all_gather": "the same for all_gather, 1 MiB to 256 MiB",
    "sustained": "the same for five minutes of all_reduce at 256 MiB, judged by its slowest 30 seconds",
    "xid": "no fatal XID in the device plugin's log since the node is there, and none by the node monitoring agent",
}
WITHOUT_A_POD = ("allocatable", "labels", "xid")

RULES = f"""## Time

- A ladder's budget counts from the node's Ready. Setting the GPUs up takes a part of it, at most
  {int(SET_UP_AT_MOST.total_seconds())} s; a node that was Ready for {int(THERE_BEFORE.total_seconds()) // 60} minutes
  was there before, and its checks count from the first. What does not end in it is not proven, with the reason.
- **Pulling images is not counted**, and is shown apart, as `pull_seconds` of the first check that needed the
  image. Images of the first checks come while the GPUs are set up, images of later
  checks while the first ones run. What was pulled while a check ran is no excuse.
  An image that is not there after {PULL_SECONDS // 60} minutes does not come.
- Each check may run for its own time, by the start of its container, so that a slow registry never looks like a
  slow GPU; the pod's own deadline leaves room for the pull and only matters where nobody looks after it any
  more.
- Nodes are checked side by side. On a node one stage follows the other; a check that does not end well bars
  what follows on its node, and a path that does not work only what needs it too. Pairs of nodes meet side by
  side as well; where one is left over it meets the first again.

## What runs

- Ordinary pods and Jobs in the namespace `lamplighter`: no privilege, no capability, no host path, no token.
  DCGM and PyTorch run as their images' own user, which is root inside.
- On exactly the node meant, by its name, so that no autoscaler adds one; with the pool's taints tolerated and
  no others.
- A GPU in time slices is tested as the GPU that it is. DCGM from level 2 on and collectives want whole GPUs:
  with MPS or MIG they are not judged.
- A collective between two nodes is an Indexed Job of two pods that meet through a headless Service by
  `torchrun`; no MPI. It prints the table of nccl-tests. Ranks that never meet, with NCCL silent, mean the path
  between the nodes.
- Never beside the operator's own validation, which takes a GPU; never in place of other people's work, which is
  named.
- Everything goes when the ladder is over, when the lease ends, and when it closes; the next run in the pool
  sweeps up after one that died.
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
    read = json.loads(files("lamplighter.data.gpu").joinpath("thresholds.json").read_text("utf-8"))["read"]
    yield "## Thresholds\n"
    yield (
        f"Read {read}. `checks.thresholds` of the lab sets the bus bandwidth of a type anew; a type that is not here is"
        " not proven.\n"
    )
    yield "| figure | unit | the most that is allowed | source |\n|---|---|---|---|"
    for name, figure in gpus.figures().items():
        yield f"| `{name}` | {figure.unit} | {figure.most or ''} | {figure.source} |"
    yield "\n| instance type | GPUs | model | bus bandwidth, GB/s (estimate) |\n|---|---|---|---|"
    for name, kind in gpus.types().items():
        yield f"| {name} | {kind.count} | {kind.names[0]} | {kind.busbw_floor} |"
