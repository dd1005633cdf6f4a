"""The program of a container, by its pod, image and command line.

A program is a generator of pauses. It prints through its container and returns an exit status. An unknown program
simply runs: for ever in a pod that restarts it, otherwise for a few seconds and successfully.
"""

import re
from collections.abc import Callable, Generator

from local.fleet.coroutines import Pause, Until
from local.fleet.interfaces import Container
from local.fleet.programs import broken as programs_broken
from local.fleet.programs import cuda as programs_cuda
from local.fleet.programs import device_plugin as programs_device_plugin
from local.fleet.programs import efa as programs_efa
from local.fleet.programs import feature_discovery as programs_feature_discovery
from local.fleet.programs import karpenter as programs_karpenter
from local.fleet.programs import nccl as programs_nccl
from local.fleet.programs import operator as programs_operator
from local.fleet.world import labels

Program = Generator[Pause, None, int]
_UNKNOWN_SECONDS = 5.0

#: GPU tools by the command line or the image; the first match counts.
_TOOLS: tuple[tuple[str, Callable[[Container], Program]], ...] = (
    ("torchrun", programs_nccl.torchrun),
    ("dcgmi diag", programs_cuda.dcgmi_diag),
    ("nvidia-smi", programs_cuda.nvidia_smi),
    ("vectoradd", programs_cuda.vector_add),
    ("vectorAdd", programs_cuda.vector_add),
)


def program_of(container: Container) -> Program:
    """The program of a container that starts now."""
    metadata = labels(container.pod.pod)
    operand = programs_feature_discovery.find(metadata) or programs_operator.find(metadata, container.name)
    operand = operand or programs_device_plugin.find(metadata, container.name)
    operand = operand or programs_karpenter.find(container) or programs_efa.find(container)
    if operand:
        return operand(container)
    for sign, tool in _TOOLS:
        if sign in container.words or (not container.words and sign in container.image):
            return _then_sleeps(container, programs_broken.find(container, tool)(container))
    return _plain(container)


def _then_sleeps(container: Container, tool: Program) -> Program:
    """A tool and, in a shell's line, the `&& sleep` after it."""
    status = yield from tool
    nap = re.search(r"&&\s*sleep\s+(\d+)", container.words)
    if status == 0 and nap:
        yield float(nap[1])
    return status


def _plain(container: Container) -> Program:
    """The simple part of a shell's line: echo, sleep and exit."""
    words = container.words
    for said in re.findall(r"echo\s+([^;&|]+)", words):
        container.say(said.strip().strip("'\""))
    naps = re.findall(r"sleep\s+(\d+(?:\.\d+)?|inf\w*)", words)
    for nap in naps:
        if nap.startswith("inf"):
            yield Until(lambda: False)
        else:
            yield float(nap)
    left = re.search(r"exit\s+(\d+)", words)
    if left:
        return int(left[1])
    if not naps:
        if container.pod.pod["spec"].get("restartPolicy", "Always") == "Always":
            yield Until(lambda: False)
        yield _UNKNOWN_SECONDS
    return 1 if words in ("false", "/bin/false") else 0
