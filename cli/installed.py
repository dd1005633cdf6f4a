"""What the wheel installs as `lamplighter_home`, its only name: the programs, which find the code beside this file.

The folder has the layout of the repository: app.py, cli/, lambdas/, local/, stacks/. Modules import each other by these
names, so both folders go to the front of the path before anything else is imported. Other programs in the environment
never see the names. In a checkout, an editable install has only this file, and the path leads to the checkout.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from subprocess import CalledProcessError

HOME = Path(__file__).parent


def main() -> None:
    """The `lamplighter` command."""
    _begin()
    from cli.main import main as command  # noqa: PLC0415 -- the path leads to it only now

    command()


def synth() -> None:
    """What the app.py of `lamplighter new` runs: lab file -> stacks."""
    _begin()
    from cli.endings import BAD_INPUT, OUTSIDE, missing_extra  # noqa: PLC0415 -- the same
    from cli.printing import say_on_stderr  # noqa: PLC0415

    try:
        from app import main as app  # noqa: PLC0415
        from stacks import layer, runtime_python  # noqa: PLC0415
    except ModuleNotFoundError as error:
        say_on_stderr(missing_extra(error) or str(error))
        sys.exit(BAD_INPUT)
    # As the steps of `make synth` before the synthesis itself.
    runtime_python.find(runtime_python.FOLDER, runtime_python.VERSION)
    try:
        layer.ensure()
    except CalledProcessError:  # uv has said why
        say_on_stderr(
            "the layer of the functions cannot be built: the package index does not give its packages"
        )
        sys.exit(OUTSIDE)
    sys.exit(app())


def _begin() -> None:
    checkout = None if (HOME / "cli").is_dir() else find_spec("cli")
    root = Path(checkout.origin).parents[1] if checkout and checkout.origin else HOME
    folders = [str(root), str(root / "lambdas")]
    sys.path[:0] = folders
    # The embedded cloud starts programs of ours.
    os.environ["PYTHONPATH"] = os.pathsep.join((*folders, *filter(None, [os.environ.get("PYTHONPATH")])))
