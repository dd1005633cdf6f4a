"""Lambda functions run as workers of their own: what a handler sees, and what its ends come to."""

import io
import json
import math
import os
import re
import signal
import sys
import threading
import uuid
import zipfile
from functools import partial

import pytest
from botocore.exceptions import ClientError

from local.aws.functions import assets
from local.aws.functions.durations import ANSWER_SECONDS, INIT_SECONDS, Measured
from local.background_task import BackgroundTask
from tests.local.conftest import embedded
from tests.steady.hang import HANG_SECONDS, await_value

COUNT = """
    import os
    calls = 0
    def handler(event, context):
        global calls
        calls += 1
        return {"event": event, "calls": calls, "pid": os.getpid()}
"""


def test_a_handler_gets_its_event_and_keeps_its_worker(aws):
    aws.function("f", COUNT)
    first, error = aws.invoke("f", {"a": 1})
    second, _ = aws.invoke("f")
    assert error is None
    assert (first["event"], first["calls"], second["calls"]) == ({"a": 1}, 1, 2)
    assert first["pid"] == second["pid"]


def test_a_handler_sees_its_variables_the_endpoint_and_its_own_role(aws):
    aws.function(
        "f",
        """
        import os, boto3
        def handler(event, context):
            arn = boto3.client("sts").get_caller_identity()["Arn"]
            here = [os.environ[name] for name in ("COLOUR", "AWS_LAMBDA_FUNCTION_NAME", "LAMPLIGHTER_INSTANT")]
            return [*here, 0 < context.get_remaining_time_in_millis() <= 20000, arn]
        """,
        Environment={"Variables": {"COLOUR": "blue"}},
    )
    answer, _ = aws.invoke("f")
    assert answer[:4] == ["blue", "f", str(aws.clock.path), True]
    assert ":assumed-role/f-role/f" in answer[4]


#: The code of a function, its error's type, and the beginning of the error's text.
FAILS = (
    ("class TryLater(Exception): pass\ndef handler(e, c): raise TryLater('not yet')", "TryLater", "not yet"),
    ("import os\ndef handler(e, c): os._exit(3)", "Runtime.ExitError", "exit status 3"),
    # The checkout is not on a function's path.
    ("import lamplighter\ndef handler(e, c): pass", "", "No module named 'lamplighter'"),
)


def test_an_error_is_given_by_its_type_and_text(aws):
    for number, (code, kind, text) in enumerate(FAILS):
        aws.function(f"f{number}", code)
        answer, error = aws.invoke(f"f{number}")
        assert error == "Unhandled"
        assert kind in answer["errorType"]
        assert text in answer["errorMessage"]
    assert "TryLater: not yet" in aws.runtime.logs("f0")


def test_a_function_that_takes_too_long_is_stopped(aws):
    aws.function("f", "import time\ndef handler(event, context): time.sleep(event or 0)", Timeout=1)
    answer, error = aws.invoke("f", 60)
    assert error == "Unhandled"
    assert answer["errorType"] == "Sandbox.Timedout"
    assert aws.invoke("f", 0) == (None, None)


def test_more_work_than_its_share_of_a_processor_does_in_time_is_cut_off(aws):
    role = aws.role("writer", "sqs:*")
    url, _ = aws.queue("q")
    code = """
        import boto3
        def handler(event, context):
            for _ in range(event["calls"]):
                boto3.client("sqs").send_message(QueueUrl=event["url"], MessageBody="done")
    """
    aws.function("f", code, role=role, Timeout=1, MemorySize=128)
    assert aws.invoke("f", {"url": url, "calls": 5}) == (None, None)
    aws.hold()
    before = aws.clock.time()
    answer, _ = aws.invoke("f", {"url": url, "calls": 40})
    assert answer["errorType"] == "Sandbox.Timedout"
    assert aws.clock.time() - before == pytest.approx(1, abs=0.1)


def test_who_it_is_may_be_asked_as_often_as_anybody_likes(aws):
    # The API server asks that of a function's token, as often as it has forgotten it in real time.
    code = """
        import boto3
        def handler(event, context):
            for _ in range(event):
                boto3.client("sts").get_caller_identity()
    """
    aws.function("f", code)
    aws.hold()
    aws.invoke("f", 0)
    took = []
    for times in (0, 10):
        before = aws.clock.time()
        aws.invoke("f", times)
        took.append(aws.clock.time() - before)
    assert took[1] == pytest.approx(took[0], abs=0.05)


def test_a_new_configuration_gets_a_new_worker(aws):
    aws.function("f", COUNT)
    before, _ = aws.invoke("f")
    aws.call(
        "lambda", "update_function_configuration", FunctionName="f", Environment={"Variables": {"A": "1"}}
    )
    after, _ = aws.invoke("f")
    assert (after["calls"], after["pid"] != before["pid"]) == (1, True)


def test_what_the_role_does_not_allow_is_denied(aws):
    role = aws.role("reader", "dynamodb:List*")
    code = """
        import boto3
        def handler(event, context):
            client = boto3.client("dynamodb")
            client.list_tables()
            client.delete_table(TableName="t")
    """
    aws.function("f", code, role=role)
    answer, _ = aws.invoke("f")
    assert "AccessDeniedException" in answer["errorMessage"]
    assert "not authorized to perform: dynamodb:DeleteTable" in answer["errorMessage"]


def test_a_role_without_a_policy_may_not_even_invoke(aws):
    aws.function("f", COUNT)
    nobody = aws.role("nobody")
    with pytest.raises(ClientError, match="lambda:InvokeFunction"):
        aws.call("lambda", "invoke", FunctionName="f", role=nobody)


def test_an_event_that_always_fails_is_tried_three_times_then_goes_to_its_destination(aws):
    url, arn = aws.queue("failed")
    sender = aws.role("sender", "sqs:SendMessage")
    aws.function("f", "def handler(event, context): raise ValueError(event)", role=sender)
    aws.call(
        "lambda",
        "put_function_event_invoke_config",
        FunctionName="f",
        DestinationConfig={"OnFailure": {"Destination": arn}},
    )
    began = aws.clock.time()
    aws.clock.hurry(True)
    aws.invoke("f", "e", kind="Event")
    record = aws.message(url)["Body"]
    assert aws.runtime.faults.invocations("f") == 3
    assert '"condition": "RetriesExhausted"' in record
    assert '"requestPayload": "e"' in record
    assert 180 <= aws.clock.time() - began < 400


def test_an_event_without_tries_left_goes_to_the_dead_letter_queue(aws):
    url, arn = aws.queue("dead")
    aws.function(
        "f",
        "def handler(event, context): raise ValueError('no')",
        role=aws.role("sender", "sqs:SendMessage"),
        DeadLetterConfig={"TargetArn": arn},
    )
    aws.call("lambda", "put_function_event_invoke_config", FunctionName="f", MaximumRetryAttempts=0)
    aws.invoke("f", {"a": 1}, kind="Event")
    message = aws.message(url)
    assert message["Body"] == '{"a": 1}'
    assert message["MessageAttributes"]["ErrorMessage"]["StringValue"] == "no"


def test_an_invocation_killed_midway_has_done_its_work_and_nobody_hears_it(aws):
    role = aws.role("writer", "sqs:*")
    url, _ = aws.queue("q")
    code = """
        import boto3
        def handler(event, context):
            boto3.client("sqs").send_message(QueueUrl=event, MessageBody="done")
            return "answer"
    """
    aws.function("f", code, role=role)
    aws.runtime.faults.kill_invocation("f", 2, after_calls=1)
    assert aws.invoke("f", url) == ("answer", None)
    answer, error = aws.invoke("f", url)
    assert error == "Unhandled"
    assert answer["errorType"] == "Runtime.ExitError"
    assert aws.invoke("f", url) == ("answer", None)
    attributes = aws.call(
        "sqs", "get_queue_attributes", QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"]
    )
    assert attributes["Attributes"]["ApproximateNumberOfMessages"] == "3"


def test_a_step_is_killed_for_its_pool_alone(aws):
    aws.function("f", COUNT)
    aws.runtime.faults.kill_step("Scale", "gpu")

    def ask(step, pool):
        return aws.invoke("f", {"step": step, "run": {"command": {"pool": pool}}})[1]

    assert [ask("Drain", "gpu"), ask("Scale", "other")] == [None, None]
    assert [ask("Scale", "gpu"), ask("Scale", "gpu")] == ["Unhandled", None]


def test_a_dead_function_does_nothing_until_it_is_revived(aws):
    aws.function("f", COUNT)
    aws.runtime.faults.die("f")
    assert aws.invoke("f")[1] == "Unhandled"
    aws.runtime.faults.revive("f")
    answer, error = aws.invoke("f")
    assert (answer["calls"], error) == (1, None)


def test_init_is_over_before_the_event_begins_and_a_warm_worker_has_none(aws):
    aws.function(
        "f",
        """
        import os, struct
        def handler(event, context):
            with open(os.environ["LAMPLIGHTER_INSTANT"], "rb") as clock:
                return struct.unpack("=q", clock.read(8))[0] / 1e9
        """,
    )
    aws.hold()
    before = aws.clock.time()
    began, _ = aws.invoke("f")
    assert began == pytest.approx(before + INIT_SECONDS, abs=0.01)
    before = aws.clock.time()
    again, _ = aws.invoke("f")
    assert again == pytest.approx(before, abs=0.01)


def test_the_report_of_a_cold_start_bills_its_init(aws):
    aws.function("f", COUNT, MemorySize=512)
    aws.invoke("f")
    aws.invoke("f")
    cold, warm = [line for line in aws.runtime.logs("f").splitlines() if line.startswith("REPORT")]
    cold_start = r" Duration: (\S+) ms Billed Duration: (\d+) ms Memory Size: 512 MB Init Duration: 900.00 ms"
    told = re.search(cold_start, cold)
    assert told is not None
    assert int(told[2]) == math.ceil(float(told[1]) + 900)
    assert "Init" not in warm


def test_the_report_is_json_where_the_function_asks_for_it(aws):
    aws.function("f", COUNT, MemorySize=512, LoggingConfig={"LogFormat": "JSON"})
    aws.invoke("f")
    aws.invoke("f")
    lines = [json.loads(line) for line in aws.runtime.logs("f").splitlines() if "platform." in line]
    assert [line["type"] for line in lines] == ["platform.start", "platform.report"] * 2
    cold, warm = (line["record"]["metrics"] for line in lines[1::2])
    assert (cold["initDurationMs"], cold["memorySizeMB"]) == (900, 512)
    assert "initDurationMs" not in warm


def test_nothing_is_written_beside_a_functions_code(aws):
    aws.function(
        "f",
        """
        import os, pathlib, sys
        def handler(event, context):
            module = pathlib.Path(event, "beside.py")
            module.write_text("here = True")
            sys.path.append(event)
            import beside
            return [beside.here, sorted(os.listdir(event)), os.environ["LAMBDA_TASK_ROOT"]]
        """,
    )
    folder = aws.embedded.functions.runtime._scratch / "beside"
    folder.mkdir(parents=True)
    assert aws.invoke("f", str(folder))[0][:2] == [True, ["beside.py"]]


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux tells one process the processor time of another"
)
def test_a_measured_function_takes_its_processor_time_at_its_share_of_a_processor(tmp_path):
    measured = Measured()
    with embedded(tmp_path, durations=measured) as aws:
        role = aws.role("writer", "sqs:*")
        url, _ = aws.queue("q")
        code = """
            import time, boto3
            def handler(event, context):
                until = time.process_time() + 0.2
                while time.process_time() < until: pass
                boto3.client("sqs").send_message(QueueUrl=event, MessageBody="done")
            """
        aws.function("f", code, role=role, MemorySize=512)
        aws.hold()
        aws.invoke("f", url)
        before = aws.clock.time()
        aws.invoke("f", url)
        took = aws.clock.time() - before
    cold, warm = measured.works
    assert cold.init is not None
    assert warm.init is None
    assert warm.calls == 1
    assert took == pytest.approx(warm.took(512), abs=0.001)
    assert took >= 0.2 / (512 / 1769) + ANSWER_SECONDS
    assert warm.took(2048) == pytest.approx(warm.event + ANSWER_SECONDS)
    assert cold.billed(512) == pytest.approx(cold.init + cold.took(512))


def test_workers_that_start_at_once_have_a_folder_each_whatever_chance_says(aws, monkeypatch):
    aws.function(
        "f",
        """
        import os
        from urllib.request import urlopen
        def handler(event, context):
            urlopen(os.environ["LAMPLIGHTER_SLEEP"], data=b"5").read()
            return [os.environ["HOME"], os.getpid()]
        """,
    )
    same = uuid.uuid4()
    monkeypatch.setattr("uuid.uuid4", lambda: same)
    aws.clock.hurry(True)
    with aws.clock.busy():
        callers = [BackgroundTask(aws.clock, "caller", partial(aws.invoke, "f")) for _ in range(4)]
        answers = [caller.result()[0] for caller in callers]
    assert len({home for home, _ in answers}) == len({pid for _, pid in answers}) == 4


def test_functions_of_one_code_share_what_their_handlers_import_and_nothing_else(aws):
    code = {
        "loaded_once.py": """
            import os
            loaded_by = os.getpid()
            calls = []
        """,
        "entry/__init__.py": "",
        "entry/one.py": """
            import os
            import loaded_once
            from entry.near import COLOUR, loaded_by
            def handler(event, context):
                loaded_once.calls.append(event)
                return [loaded_once.loaded_by, os.getpid(), loaded_by, COLOUR, context.function_name, loaded_once.calls]
        """,
        "entry/near.py": """
            import os
            COLOUR, loaded_by = os.environ["COLOUR"], os.getpid()
        """,
    }
    for colour in ("blue", "red"):
        variables = {"Variables": {"COLOUR": colour}}
        aws.function(colour, code, Handler="entry.one.handler", Environment=variables)
    blue, red = (aws.invoke(colour, colour)[0] for colour in ("blue", "red"))
    assert blue[0] == red[0]
    assert len({blue[0], blue[1], red[1]}) == 3
    assert blue[2:] == [blue[1], "blue", "blue", ["blue"]]
    assert red[2:] == [red[1], "red", "red", ["red"]]


def test_when_the_starter_of_workers_is_gone_another_one_starts_them(aws):
    aws.function("f", "import os\ndef handler(event, context): return os.getppid()")
    gone, _ = aws.invoke("f")
    os.kill(gone, signal.SIGKILL)

    def another() -> bool:
        starter, error = aws.invoke("f")  # an event that meets the end of its worker is told so, as on Lambda
        return not error and starter != gone

    assert await_value("another one starts it", another)


def test_code_that_several_want_at_once_is_whole_for_each(tmp_path, monkeypatch):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as content:
        content.writestr("index.py", "whole")
    both = threading.Barrier(2, timeout=HANG_SECONDS)
    extract = assets.extract

    def slowly(source, folder):
        both.wait()  # neither is done when the other begins
        extract(source, folder)
        both.wait()

    monkeypatch.setattr(assets, "extract", slowly)
    found: list[str] = []

    def ask() -> None:
        folder = assets.unpacked_into(tmp_path / "code", io.BytesIO(archive.getvalue()))
        found.append((folder / "index.py").read_text())

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_SECONDS)
    assert found == ["whole", "whole"]
    assert [path.name for path in tmp_path.iterdir()] == ["code"]


def test_no_worker_outlives_the_cloud(aws):
    aws.function("f", COUNT)
    answer, _ = aws.invoke("f")
    aws.runtime.close()
    with pytest.raises(ProcessLookupError):
        os.kill(answer["pid"], 0)
