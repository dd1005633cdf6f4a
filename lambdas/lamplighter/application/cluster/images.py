"""Pulls the images of a ladder's first checks to nodes while their GPUs are still being set up.

So a check does not wait for its image. The pods take no GPU, and no verdict depends on them: an image that does not
come this way is pulled for its check.
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
"""The pods that this worker created, by connection: AwaitGpus runs every two seconds."""
REMEMBERED = 10_000


def bring_ahead(nodes: Iterable[NodeFacts], run: Run, lab: Lab, connection: Connection) -> None:
    """Pull the first checks' images to these nodes; never fails."""
    lease = run.lease or run.pool
    images = {check.image for check in checks.ladder(lab.checks_for(run.window)) if not check.stage}
    origin = CheckOrigin(lease, run.pool, instant.written(clock.now()))
    mine = _asked_for.setdefault(connection, set())
    for node in nodes:
        for image in sorted(images):
            name = checks_manifests.placement_name(f"{AHEAD}-{image}", lease, (node.name,))
            if name in mine or not node.ready:
                continue
            try:
                pods.create(connection, checks_manifests.ahead(image, origin, name, node))
            except OutsideFailed as error:
                logger().info("an image is not pulled early", extra={"node": node.name, "reason": str(error)})
                return
            if len(mine) > REMEMBERED:
                mine.clear()
            mine.add(name)
