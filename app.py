"""Lab file -> stacks. No resource is described here, and AWS is not called.

`python app.py --lab FILE --out DIR` writes a cloud assembly; `cdk` calls it with `-c lab=FILE`. A lab
with problems is refused with a line each, before anything is written.
"""

import argparse
import os
import sys
from pathlib import Path

from lamplighter.lab.channels import Slack
from lamplighter.lab.model import Lab
from lamplighter.labfile import file as labfile
from stacks import bytecode, runtime_python
from stacks.assembly import lab_path, refused_context, synth


def main(arguments: list[str] | None = None) -> int:
    """Synthesise; 0, or 2 for a lab that cannot be built or a folder that cannot be written."""
    parser = argparse.ArgumentParser(prog="app.py", description=__doc__)
    parser.add_argument("--lab", help="the lab file (default: cdk's -c lab=FILE, else lab.yaml)")
    parser.add_argument("--out", type=Path, help="the folder to write (default: cdk's, else cdk.out)")
    parser.add_argument("--slack", metavar="CHANNEL", help="give a lab without Slack one that speaks there")
    chosen = parser.parse_args(arguments)
    refusal = refused_context()
    if refusal is not None:
        print(refusal, file=sys.stderr)  # noqa: T201
        return 2
    lab = labfile.read(lab_path(chosen.lab))
    if not isinstance(lab, Lab):
        for problem in lab:
            print(problem, file=sys.stderr)  # noqa: T201 -- this is a program
        return 2
    out = chosen.out or Path(os.environ.get("CDK_OUTDIR", "cdk.out"))
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"--out: {out} cannot be written ({error.strerror}), name a folder", file=sys.stderr)  # noqa: T201
        return 2
    if chosen.slack and lab.slack is None:
        lab = lab.model_copy(update={"slack": Slack(channel=chosen.slack)})
    synth(lab, out)
    if runtime_python.interpreter() is None:
        print(bytecode.WITHOUT, file=sys.stderr)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
