"""The life of an EC2 instance in virtual time: pending, running, stopping, stopped, shutting-down, terminated.

moto keeps the instances and answers for them. This file changes their states in time, and informs listeners.
"""

import random
import threading
from collections.abc import Callable

from moto.ec2.models import EC2Backend, ec2_backends
from moto.ec2.models.instances import Instance, InstanceState, Reservation

from local.aws.ec2 import interfaces
from local.aws.ec2.ec2_faults import Faults
from local.aws.timers import Timers
from local.clock import VirtualClock

#: Seconds from pending to running by family, [est] from consoles; other families take DEFAULT_BOOT.
BOOT_SECONDS = {"t3": 12.0, "g4dn": 20.0, "g5": 22.0, "g6": 22.0, "g6e": 24.0, "p4d": 90.0, "p5": 120.0}
DEFAULT_BOOT = 15.0
BOOT_JITTER = 0.25
SHUTDOWN_SECONDS = 35.0
STOP_SECONDS = 25.0
STUCK_LOOK_AGAIN_SECONDS = 15.0
#: AWS shows a terminated instance for about an hour.
FORGOTTEN_SECONDS = 3600.0

PENDING, RUNNING, SHUTTING_DOWN, TERMINATED, STOPPING, STOPPED = (
    (0, "pending"),
    (16, "running"),
    (32, "shutting-down"),
    (48, "terminated"),
    (64, "stopping"),
    (80, "stopped"),
)

#: Called with (instance id, state) on every change, on the thread of the timers.
Listener = Callable[[str, str], None]

_run_instances = EC2Backend.run_instances
_terminate = Instance.terminate
_stop = Instance.stop
_start = Instance.start


class InstanceLives:
    """`install` puts it into moto. A process has one at a time; the latest counts."""

    def __init__(self, clock: VirtualClock, timers: Timers, faults: Faults, seed: int = 0) -> None:
        self._clock = clock
        self._timers = timers
        self._faults = faults
        self._chance = random.Random(seed)  # noqa: S311 (jitter)
        self._lock = threading.Lock()
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def install(self) -> None:
        lives = self

        def run_instances(backend: EC2Backend, *args: object, **kwargs: object) -> Reservation:
            asked_before = _of_token(backend, kwargs.get("client_token"))
            if asked_before is not None:
                return asked_before
            # moto takes no interfaces from a launch template.
            named = kwargs.get("launch_template")
            if isinstance(named, dict) and named and not kwargs.get("nics"):
                template = backend._get_template_from_args(named).data  # noqa: SLF001 (moto's own)
                if template.get("NetworkInterfaces"):
                    kwargs |= {"nics": interfaces.described(template)}
                    kwargs |= {"security_group_ids": interfaces.groups(template)}
            reservation = _run_instances(backend, *args, **kwargs)  # type: ignore[arg-type]
            for instance in reservation.instances:
                interfaces.name_kinds(instance, kwargs.get("nics"))
                lives._begin(instance)
            return reservation

        def terminate(instance: Instance) -> InstanceState:
            return lives._end(instance)

        def stop(instance: Instance) -> InstanceState:
            return lives._stop(instance)

        def start(instance: Instance) -> InstanceState:
            return lives._start(instance)

        EC2Backend.run_instances = run_instances  # type: ignore[method-assign, assignment]
        Instance.terminate = terminate  # type: ignore[method-assign, assignment]
        Instance.stop = stop  # type: ignore[method-assign, assignment]
        Instance.start = start  # type: ignore[method-assign, assignment]

    def _begin(self, instance: Instance) -> None:
        instance.launch_time = self._clock.now().replace(tzinfo=None, microsecond=0)
        _set(instance, PENDING)
        self._timers.soon(lambda: self._tell(instance))
        self._timers.after(self._boot_seconds(instance.instance_type), lambda: self._run(instance))

    def _run(self, instance: Instance) -> None:
        if instance.state == PENDING[1]:
            _set(instance, RUNNING)
            self._tell(instance)

    def _end(self, instance: Instance) -> InstanceState:
        """Terminates as moto does, but the instance is shutting-down for a while. A second call changes nothing."""
        if instance.state in (SHUTTING_DOWN[1], TERMINATED[1]):
            return InstanceState(instance.state, instance.state_code)
        before: InstanceState = _terminate(instance)
        moment = self._clock.now().strftime("%Y-%m-%d %H:%M:%S GMT")
        instance._reason = f"User initiated ({moment})"  # noqa: SLF001 (moto's own field)
        _set(instance, SHUTTING_DOWN)
        self._timers.soon(lambda: self._tell(instance))
        self._timers.after(self._jittered(SHUTDOWN_SECONDS), lambda: self._finish(instance))
        return before

    def _stop(self, instance: Instance) -> InstanceState:
        """Stops a running instance. In any other state it changes nothing."""
        if instance.state != RUNNING[1]:
            return InstanceState(instance.state, instance.state_code)
        before: InstanceState = _stop(instance)
        _set(instance, STOPPING)
        self._timers.soon(lambda: self._tell(instance))
        self._timers.after(self._jittered(STOP_SECONDS), lambda: self._rest(instance))
        return before

    def _rest(self, instance: Instance) -> None:
        if instance.state == STOPPING[1]:
            _set(instance, STOPPED)
            self._tell(instance)

    def _start(self, instance: Instance) -> InstanceState:
        """Starts a stopped instance anew. In any other state it changes nothing."""
        if instance.state != STOPPED[1]:
            return InstanceState(instance.state, instance.state_code)
        before: InstanceState = _start(instance)
        self._begin(instance)
        return before

    def _finish(self, instance: Instance) -> None:
        if self._faults.stuck(instance.instance_type):
            self._timers.after(STUCK_LOOK_AGAIN_SECONDS, lambda: self._finish(instance))
            return
        _set(instance, TERMINATED)
        self._tell(instance)
        self._timers.after(FORGOTTEN_SECONDS, lambda: _forget(instance))

    def _tell(self, instance: Instance) -> None:
        for listener in self._listeners:
            listener(instance.id, instance.state)

    def _boot_seconds(self, instance_type: str) -> float:
        family = instance_type.partition(".")[0]
        return self._jittered(BOOT_SECONDS.get(family, DEFAULT_BOOT)) * self._faults.boot_factor

    def _jittered(self, seconds: float) -> float:
        with self._lock:
            return seconds * self._chance.uniform(1 - BOOT_JITTER, 1 + BOOT_JITTER)


def end(account_id: str, region: str, instance: str) -> None:
    """EC2 ends an instance by itself, or for the service that operates it: no protection holds."""
    ec2_backends[account_id][region].get_instance(instance).terminate()


def _of_token(backend: EC2Backend, token: object) -> Reservation | None:
    """What an earlier request with the token launched: a second one launches nothing
    (https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html).
    """
    if token in (None, "ABCDE"):  # what moto takes where a request has none
        return None
    for reservation in backend.reservations.values():
        if any(instance.client_token == token for instance in reservation.instances):
            return reservation
    return None


def _set(instance: Instance, state: tuple[int, str]) -> None:
    instance._state = InstanceState(state[1], state[0])  # noqa: SLF001 (moto's own field)


def _forget(instance: Instance) -> None:
    for reservation in list(instance.ec2_backend.reservations.values()):
        if instance in reservation.instances:
            # A new list, because another thread may be reading the old one.
            reservation.instances = [other for other in reservation.instances if other is not instance]
