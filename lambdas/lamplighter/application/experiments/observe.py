"""Steps Observe and ProveRestored: the checks and the diagnosis judge the change, and later the restore.

Both wait for a bounded time, at most until the lease ends, and then return the result so far.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta

from lamplighter.application.experiments import probes
from lamplighter.application.experiments.change import seen
from lamplighter.application.experiments.services import ExperimentServices, run_of
from lamplighter.domain.experiments import observation
from lamplighter.domain.experiments.admission import PROOF
from lamplighter.domain.experiments.catalogue import Touches
from lamplighter.domain.experiments.observation import Observation
from lamplighter.domain.experiments.run import ExperimentPhase, ExperimentRun
from lamplighter.errors import LamplighterError, OutsideFailed, Stale, TryLater
from lamplighter.reasons.reason import Said, Sentences, reason

_logger = logging.getLogger(__name__)
TO_BE_TOLD = timedelta(minutes=1)
"""Events and logs may be that late. A cause that is not named by then is not waited for: the fault is reverted."""
TO_CLEAN_UP = timedelta(minutes=2)
"""A proof stops that long before the lease ends, so that the drain finds none of its pods."""


def observe(run: Mapping[str, object], services: ExperimentServices) -> dict[str, object]:
    """Step Observe: the observation, once the diagnosis names the expected cause or the time is over."""
    kept = run_of(run, services.ledger)
    if kept is None or kept.undone or kept.phase is ExperimentPhase.PREPARED:
        raise Stale(reason("experiment.nothing-to-observe"))
    if kept.phase is ExperimentPhase.OBSERVED:
        return _brief(kept.seen)
    lease, now = services.lease_of(kept), services.now()
    late = now >= kept.due(lease) or lease is None or not lease.in_force(now)
    look = probes.symptom(kept, services)
    if look.waiting and not late:
        raise TryLater(Sentences(tuple(look.waiting)))
    diagnosis = _diagnosed(kept, services)
    found = observation.seen(kept.experiment, look.verdicts, diagnosis, now)
    settled = look.ended is not None and now >= look.ended + TO_BE_TOLD
    if not found["as_expected"] and not late and not settled:
        named = tuple(observation.causes(diagnosis)) or (reason("experiment.no-cause"),)
        raise TryLater(reason("experiment.cause-awaited", causes=named, cause=kept.experiment.cause))
    if not seen(kept, services, found):
        raise Stale(reason("experiment.undone-while-observed", name=kept.name))
    return _brief(found)


def prove_restored(run: Mapping[str, object], services: ExperimentServices) -> dict[str, object]:
    """Step ProveRestored: the same checks, after the restore."""
    kept = run_of(run, services.ledger)
    if kept is None or not kept.undone:
        raise Stale(reason("experiment.nothing-to-prove"))
    if kept.phase is ExperimentPhase.PROVEN:
        return dict(kept.proof)
    now = services.now()
    if kept.changed is None and kept.experiment.touches is not Touches.NOTHING:
        return observation.proof((), now, reason("experiment.nothing-changed"))
    why_not = _no_time(kept, services, now)
    try:
        look = probes.proof(kept, services)
    except OutsideFailed as error:
        if why_not is None:
            raise
        look = Observation((), (error.said,))
    if look.waiting and why_not is None:
        raise TryLater(Sentences(tuple(look.waiting)))
    with suppress(OutsideFailed):
        probes.clean_up(kept, services)
    return observation.proof(look.verdicts, now, why_not if look.waiting else None)


def _no_time(run: ExperimentRun, services: ExperimentServices, now: datetime) -> Said | None:
    lease = services.lease_of(run)
    if lease is None or not lease.in_force(now) or now >= lease.closes - TO_CLEAN_UP:
        return reason("experiment.lease-over-before-checks")
    if run.restored is not None and now >= run.restored + PROOF:
        return reason("experiment.checks-too-long", minutes=PROOF // timedelta(minutes=1))
    return None


def _diagnosed(run: ExperimentRun, services: ExperimentServices) -> Mapping[str, object]:
    try:
        return services.diagnose(run)
    except LamplighterError as error:
        _logger.warning("%s is observed without a diagnosis: %s", run.id, error)
        return {}


def _brief(found: Mapping[str, object]) -> dict[str, object]:
    """The part that the workflow's state has; the ledger has the whole observation."""
    return {key: found.get(key) for key in ("at", "as_expected", "cause")}
