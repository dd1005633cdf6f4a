"""The images of a ladder's first checks, brought to nodes while their GPUs are still set up.

So that no check waits for its image where there was time to bring it. It takes no GPU and nothing is judged by it:
an image that does not come this way is pulled for its check.
"""

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from lamplighter import clock
from lamplighter.adapters.kubernetes import pods
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.application.cluster.run import Run
from lamplighter.application.logs import logger
from lamplighter.domain.checks import ladder as checks
from lamplighter.domain.checks import manifests as checks_manifests
from lamplighter.domain.checks.manifests import AHEAD, CheckOrigin
from lamplighter.domain.pool.nodes import NodeFacts
from lamplighter.errors import OutsideFailed
from lamplighter.lab.model import Lab
from lamplighter.values import instant

_asked_for: "WeakKeyDictionary[Connection, set[str]]" = WeakKeyDictionary()
"""By the worker's connection, the pods that it has made: AwaitGpus asks every two seconds."""
REMEMBERED = 10_000


def bring_ahead(nodes: Iterable[NodeFacts], run: Run, lab: Lab, connection: Connection) -> None:
    """Have the first checks' images on these nodes by the time that their GPUs are ready; never fails."""
    lease = run.lease or run.pool
    images = {each.image for each in checks.ladder(lab.checks_for(run.window)) if not each.stage}
    origin = CheckOrigin(lease, run.pool, instant.written(clock.now()))
    mine = _asked_for.setdefault(connection, set())
    for node in nodes:
        for image in sorted(images):
            name = checks_manifests.seat_name(f"{AHEAD}-{image}", lease, (node.name,))
            if name in mine or not node.ready:
                continue
            try:
                pods.create(connection, checks_manifests.ahead(image, origin, name, node))
            except OutsideFailed as error:
                logger().info(
                    "an image is not brought ahead", extra={"node": node.name, "reason": str(error)}
                )
                return
            if len(mine) > REMEMBERED:
                mine.clear()
            mine.add(name)
