"""The programs that layers bring to a function under /opt: kubectl, helm and the AWS CLI of the CDK's layers.

They are the real programs, unpacked from the assembly, and a worker finds them on its PATH. Two need a change. The
script of the AWS CLI names an interpreter that only Lambda has; here it is loaded once for all (aws_cli.py), because no
figure measures its time. helm must use the local chart repository, because nothing here may reach the internet.
"""

import os
import shlex
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from local.aws.functions import aws_cli

#: The environment variable that gives a worker's helm the local chart repository.
REPOSITORY = "LAMPLIGHTER_CHART_REPOSITORY"

AWS = """#!/bin/sh
exec {python} -I -S {ask} {address} {folder} "$@"
"""
HELM = """#!/bin/sh
# Every chart repository is the local one.
count=$#
while [ "$count" -gt 0 ]; do
  argument=$1; shift
  if [ "$previous" = --repo ]; then argument=${repository}; fi
  set -- "$@" "$argument"
  previous=$argument
  count=$((count - 1))
done
exec {helm} "$@"
"""
PLAIN = """#!/bin/sh
exec {program} "$@"
"""


class LayerTools:
    """Wrappers for the programs in layers. `chart_repository` is the address for helm."""

    def __init__(self, work: Path) -> None:
        self._bin = work / "opt"
        self.chart_repository = ""

    def variables(self, layers: Sequence[Path]) -> dict[str, str]:
        """The environment variables with which a worker finds the programs of its layers; empty without programs."""
        scripts: dict[str, str] = {}
        for layer in layers:
            if (layer / "awscli" / "aws").exists():
                folder = layer / "awscli"
                address = aws_cli.address(folder)
                scripts["aws"] = _script(
                    AWS, python=sys.executable, ask=aws_cli.ASK, address=address, folder=folder
                )
            if (layer / "helm" / "helm").exists():
                scripts["helm"] = _script(HELM, helm=layer / "helm" / "helm", repository=REPOSITORY)
            if (layer / "kubectl" / "kubectl").exists():
                scripts["kubectl"] = _script(PLAIN, program=layer / "kubectl" / "kubectl")
        if not scripts:
            return {}
        self._bin.mkdir(parents=True, exist_ok=True)
        for name, script in scripts.items():
            self._write(self._bin / name, script)
        path = f"{self._bin}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        return {"PATH": path, REPOSITORY: self.chart_repository}

    def _write(self, path: Path, script: str) -> None:
        if path.exists() and path.read_text("utf-8") == script:
            return
        draft = path.with_name(
            f"{path.name}.{threading.get_ident()}.new"
        )  # several workers may start at once
        draft.write_text(script, "utf-8")
        draft.chmod(0o755)
        draft.replace(path)


def _script(template: str, **values: str | Path) -> str:
    """A script for the shell, whatever letters its paths have."""
    return template.format(**{name: shlex.quote(str(value)) for name, value in values.items()})
