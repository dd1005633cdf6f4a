"""The programs that the script of a CI job calls: `aws` with the two commands of the how-to, `date` and `sleep` in the
time of the lab.
"""

import argparse
import json
import sys
from typing import Any

from lamplighter import clock


def aws(*words: str) -> str:
    """The answer of the AWS command line to one of the two commands, as text."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("service")
    parser.add_argument("operation")
    for option in ("query", "output", "entries", "log-group-name", "filter-pattern"):
        parser.add_argument(f"--{option}")
    parser.add_argument("--start-time", type=int)
    given = {name: value for name, value in vars(parser.parse_args(words)).items() if value is not None}
    service, operation, query, output = (
        given.pop(name) for name in ("service", "operation", "query", "output")
    )
    assert output == "text"
    # Only here: `date` and `sleep` start often, and quickly.
    import boto3  # noqa: PLC0415
    import jmespath  # type: ignore[import-untyped]  # noqa: PLC0415

    api: Any = boto3.client(service)
    if (service, operation) == ("events", "put-events"):
        answer = api.put_events(Entries=json.loads(given["entries"]))
    else:
        assert (service, operation) == ("logs", "filter-log-events")
        asked = {_member(name): value for name, value in given.items()}
        answer = api.get_paginator("filter_log_events").paginate(**asked).build_full_result()
    return _text(jmespath.search(query, answer))


def _member(option: str) -> str:
    first, *rest = option.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join("\t".join(row) if isinstance(row, list) else str(row) for row in value)
    return str(value)


def main(program: str, *words: str) -> str:
    match program:
        case "aws":
            return aws(*words)
        case "date":
            assert words == ("+%s",)
            return str(int(clock.now().timestamp()))
        case _:
            clock.sleep(float(words[0]))
            return ""


if __name__ == "__main__":
    said = main(*sys.argv[1:])
    sys.stdout.write(f"{said}\n" if said else "")
