"""`python -m tests.suite.policies`: the statements that no scenario of a long run exercised.

It reads what each part with scenarios has judged in the long run and in the short one, also a part that was left out
because it had passed before. It fails if a statement is missing without a reason.
"""

import sys

from tests.scenarios import judged
from tests.suite.parts import SCENARIO_PARTS, SCENARIOS


def main() -> int:
    folders = [SCENARIOS.name, *(f"{part.name}-long" for part in SCENARIO_PARTS)]
    every = judged.read(*(judged.FOLDERS / folder for folder in folders))
    problems = judged.not_exercised(every, judged.reasons())
    lines = [*problems, *judged.in_vain(every, judged.reasons())]
    lines.append(
        f"{every.calls} calls judged, {len(every.exercised)} lines exercised, {len(every.missing())} not"
    )
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
