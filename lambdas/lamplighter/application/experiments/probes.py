"""What an experiment looks at: what the pool's nodes offer, and the ladder's checks run on them.

One look a call: it asks for what is not there yet, and says what still runs. Judging is the ladder's.
"""

from lamplighter.application.experiments.bench import Bench
from lamplighter.domain.experiments.catalogue import Probe
from lamplighter.domain.experiments.observation import Look
from lamplighter.domain.experiments.run import ExperimentRun


def symptom(run: ExperimentRun, bench: Bench) -> Look:
    """What is seen while the change is in; nothing is waited for any more once the symptom can be judged."""
    from lamplighter.application.experiments import checks  # noqa: PLC0415 -- with the ladder, only to look

    match run.experiment.probe:
        case Probe.NCCL:
            return checks.collective(run, bench, "seen")
        case Probe.GPU:
            return checks.without_gpus(run, bench)
        case Probe.NEWER_CUDA:
            return checks.newer_cuda(run, bench)


def proof(run: ExperimentRun, bench: Bench) -> Look:
    """The same checks after the restore."""
    from lamplighter.application.experiments import checks  # noqa: PLC0415 -- with the ladder, only to look

    if run.experiment.probe is Probe.NCCL:
        return checks.collective(run, bench, "proof")
    return checks.with_gpus(run, bench)


def clean_up(run: ExperimentRun, bench: Bench) -> None:
    """Nothing that was made to look is left."""
    from lamplighter.application.experiments import checks  # noqa: PLC0415 -- with the ladder, only to look

    checks.clean_up(run, bench)
