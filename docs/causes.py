"""The reference page of the causes that a diagnosis names, from the table of the rules and that of the stages."""

from lamplighter.domain.diagnosis.causes import CAUSES
from lamplighter.domain.diagnosis.stages import ProvisioningStage

HEAD = """# Causes

Generated from the diagnosis by `make docs`. These are all causes that `lamplighter diagnose`, an announcement, `why`
and a receipt can name. [How to read a finding](../../how-to/trouble/read-a-finding.md) explains its other parts.

Findings come in the order of this page: AWS before Kubernetes before NVIDIA, and within each the root first. What a
cause explains is not listed beside it: missing nodes explain pods that wait, a plugin that is switched off explains
`Insufficient nvidia.com/gpu`. Two causes that have nothing to do with each other are both listed.
"""
LAYERS = {"aws": "AWS", "kubernetes": "Kubernetes", "nvidia": "NVIDIA"}
STAGES = """## Stages

What is within its normal time is in progress and no finding. This is the one table by which anything is called late;
`expected.since` and `now` of the snapshot decide how long it has lasted.

| stage | normally done within |
|---|---|
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for layer, title in LAYERS.items():
        parts.append(f"## {title}\n")
        for cause in CAUSES.values():
            if cause.layer == layer:
                summary = str(cause.summary)
                parts += [
                    f"### {cause.name}\n",
                    f"{summary[0].upper()}{summary[1:]}.\n",
                    f"- Shown by: {cause.shown_by}.",
                    f"- What to do: {cause.advice}",
                    f"- Known from: {cause.source}.\n",
                ]
    rows = [f"| {stage.label} | {int(stage.normal.total_seconds())} s |" for stage in ProvisioningStage]
    return "\n".join([*parts, STAGES + "\n".join(rows)]) + "\n"
