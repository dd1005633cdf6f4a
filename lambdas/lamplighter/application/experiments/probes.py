"""The probes of an experiment: the pool's allocatable GPUs, and checks of the ladder on its nodes.

Each call starts what is missing, and returns what still runs. The ladder's checks judge.
"""

from lamplighter.application.experiments.services import ExperimentServices
from lamplighter.domain.experiments.catalogue import Probe
from lamplighter.domain.experiments.observation import Observation
from lamplighter.domain.experiments.run import ExperimentRun


def symptom(run: ExperimentRun, services: ExperimentServices) -> Observation:
    """The observation during the fault; `waiting` is empty once the symptom can be judged."""
    from lamplighter.application.experiments import checks  # noqa: PLC0415 -- with the ladder, only to look

    match run.experiment.probe:
        case Probe.NCCL:
            return checks.collective(run, services, "seen")
        case Probe.GPU:
            return checks.without_gpus(run, services)
        case Probe.NEWER_CUDA:
            return checks.newer_cuda(run, services)


def proof(run: ExperimentRun, services: ExperimentServices) -> Observation:
    """The same checks after the restore."""
    from lamplighter.application.experiments import checks  # noqa: PLC0415 -- with the ladder, only to look

    if run.experiment.probe is Probe.NCCL:
        return checks.collective(run, services, "proof")
    return checks.with_gpus(run, services)


def clean_up(run: ExperimentRun, services: ExperimentServices) -> None:
    """Delete the probes' pods and Jobs."""
    from lamplighter.application.experiments import checks  # noqa: PLC0415 -- with the ladder, only to look

    checks.clean_up(run, services)
