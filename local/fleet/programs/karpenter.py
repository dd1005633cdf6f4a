"""The program of Karpenter's pods is Karpenter's own: a process on this machine, in the pod's name.

local/kubernetes/karpenter starts it. Here are its place in the life of a container, and its readiness.
"""

from collections.abc import Callable, Generator

from lamplighter.errors import OutsideFailed
from local.fleet.coroutines import Pause, Until
from local.fleet.interfaces import Container

Program = Generator[Pause, None, int]
_FAILED = 1


def find(container: Container) -> Callable[[Container], Program] | None:
    """The program of a container with an image for which this fleet has a real program; None for any other."""
    return _run if _image(container) in container.pod.world.real_programs else None


def _run(container: Container) -> Program:
    pod, world = container.pod, container.pod.world
    container.serves = lambda: False
    yield 0.0
    try:
        process = world.real_programs[_image(container)](
            pod.pod, container.spec, container.say, world.coroutines.look_again
        )
    except OutsideFailed as error:
        container.say(str(error))
        return _FAILED
    container.serves = lambda: process.serves
    pod.at_end(process.stop)
    yield Until(lambda: process.ended)
    return process.status or 0


def _image(container: Container) -> str:
    """The image without its digest and tag."""
    return container.image.partition("@")[0].rpartition(":")[0]
