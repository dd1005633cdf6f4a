"""How long an invocation takes in the lab's time: a model, so that a slow machine makes no slow AWS.

What is counted is the same on every machine: whether the worker is new, and how many AWS calls the invocation
makes. Outside Init a function has memory / 1,769 MB of one processor
(https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html).
"""

#: Memory with which a function has one whole processor, in MB.
WHOLE_PROCESSOR_MB = 1769
#: A new environment: the runtime, our modules and the AWS SDK are loaded with a whole processor [est].
INIT_SECONDS = 0.9
#: Processor seconds of an event by itself, and of each AWS call: signing, writing and reading it [est].
EVENT_SECONDS, CALL_SECONDS = 0.012, 0.004
#: From a call to its answer, inside a region: docs/reference/performance.md reckons with the same.
ANSWER_SECONDS = 0.015


def duration(memory: int, calls: int) -> float:
    """Seconds that an invocation works, from the event to the answer without Init; `memory` in MB."""
    share = min(1.0, memory / WHOLE_PROCESSOR_MB)
    return (EVENT_SECONDS + calls * CALL_SECONDS) / share + calls * ANSWER_SECONDS
