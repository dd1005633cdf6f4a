"""`lamplighter doctor --request`: asks AWS for each quota that the doctor found too small, after showing it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cli import printing
from cli.use.agreed import agree
from lamplighter.adapters.doctor.quota_requests import QuotaRequests
from lamplighter.domain.doctor.line import DoctorLine
from lamplighter.reasons.reason import Reason, Said, Sentences

INCREASE = "doctor.quota-increase"


@dataclass(frozen=True, slots=True)
class Increase:
    """A quota that the lab needs, by the codes of AWS; `open` is the value that AWS has been asked for already."""

    service: str
    code: str
    region: str
    value: int
    open: float | None = None

    @property
    def quota(self) -> str:
        """The quota in words."""
        return f"{self.service}/{self.code} in {self.region}"

    def __str__(self) -> str:
        if self.open is None:
            return f"would ask AWS to raise the quota {self.quota} to {self.value}"
        short = f", and AWS takes no other request until it is closed; the lab needs {self.value}"
        return (
            f"asked already: the quota {self.quota} to {self.open:g}{short if self.open < self.value else ''}"
        )


def request(lines: Sequence[DoctorLine], *, yes: bool, as_json: bool) -> list[Increase]:
    """Ask for what the lines advise and nobody has asked for. Returns all that they advise. Raises Refused."""
    quotas = QuotaRequests()
    increases = [replace(one, open=quotas.open_value(one.service, one.code)) for one in advised(lines)]
    tell = printing.say_on_stderr if as_json else printing.say
    if not increases:
        tell("No quota is too small.")
    wanted = [one for one in increases if one.open is None]
    for one in increases:
        tell(str(one))
    if wanted and not yes:
        must = "say --yes to send these requests"
        agree((), "Ask AWS for it?", "nothing was requested", as_json=as_json, must=must)
    for one in wanted:
        if quotas.ask(one.service, one.code, one.value):
            tell(f"requested: {one.quota}, {one.value}. AWS takes hours to days")
        else:
            tell(f"not requested: AWS says that a request for {one.quota} is open")
    return increases


def advised(lines: Sequence[DoctorLine]) -> Iterator[Increase]:
    """The increases that the advice of these lines asks for."""
    for line in lines:
        for one in _within(line.advice):
            values = one.values
            service, code, region = (str(values[name]) for name in ("service", "code", "region"))
            yield Increase(service, code, region, int(str(values["value"])))


def _within(said: Said) -> Iterator[Reason]:
    if isinstance(said, Sentences):
        for each in said.sentences:
            yield from _within(each)
    elif isinstance(said, Reason) and said.code == INCREASE:
        yield said
    elif isinstance(said, Reason):
        for value in said.values.values():
            if isinstance(value, Reason | Sentences):
                yield from _within(value)
