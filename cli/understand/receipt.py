"""`lamplighter receipt`: what a closed lease left, as a table, a document, or the page to look at."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from cli import deployment, files, printing
from cli.deployment import Deployment
from cli.options import AsJson, LabName
from lamplighter.adapters.aws.view_reading import receipt_of
from lamplighter.data.texts import ENGLISH
from lamplighter.domain.views.receipt_view import ReceiptView
from lamplighter.errors import BadInput
from lamplighter.pages import receipt_page, wording
from lamplighter.reasons.document import drawn
from lamplighter.reasons.reason import draw
from lamplighter.values.clock_time import clock_time
from lamplighter.values.counted import counted

SAID = {"passed": "passed", "failed": "FAILED", "not-proven": "not proven"}


def command(
    lease: Annotated[str | None, typer.Argument(help="Whose receipt; left out: the newest.")] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write the page there, one file with all in it."),
    ] = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Show what a closed lease left: who, when, nodes, checks, cost, proof of zero.

    \b
    Examples:
      lamplighter receipt
      lamplighter receipt evening-2026-12-01 --html receipt.html
      lamplighter receipt --json | jq .cost
    """
    if html is not None:
        files.may_be_written("--html", html)
    found = deployment.find(lab_name)
    document = _document(found, lease)
    if html is not None:
        files.write("--html", html, page(found, document))
    if as_json:
        usual = receipt_of(found.ledger, found.lab, document).usual_stages()
        printing.as_json(drawn({**document, "usual_stages": usual}, ENGLISH, clock_time))
    elif html is not None:
        printing.say(f"the receipt of {document.get('lease') or 'what ran without a lease'} is in {html}")
    else:
        show(receipt_of(found.ledger, found.lab, document), wording.Wording(ENGLISH, found.zone))


def page(found: Deployment, document: dict[str, Any]) -> str:
    """The page of a receipt."""
    view = receipt_of(found.ledger, found.lab, document)
    return receipt_page.page(view, found.lab.name, found.lab.region, wording.of(found.lab))


def _document(found: Deployment, lease: str | None) -> dict[str, Any]:
    """The named receipt, or the newest that a lease left; where none did, the newest there is."""
    known = [each for pool in found.lab.pools for each in found.ledger.receipts_in_brief(pool)]
    known.sort(key=lambda each: str(each["closed"]))
    if lease is not None:
        named: dict[str, Any] | None = next(
            (each for each in reversed(known) if each.get("lease") == lease), None
        )
        if named is None:
            last = ", ".join(str(each["lease"]) for each in known[-3:] if each.get("lease")) or "none yet"
            raise BadInput(f"LEASE: no receipt of '{lease[:80]}' is there; the last ones are {last}")
        return _whole(found, named)
    if not known:
        raise BadInput("no receipt is there yet: the first lease that closes leaves one")
    return _whole(found, next((each for each in reversed(known) if each.get("lease")), known[-1]))


def _whole(found: Deployment, brief: dict[str, Any]) -> dict[str, Any]:
    """With what was said of each node; what ran without a lease was not judged."""
    if not brief.get("lease"):
        return brief
    pool, closed = str(brief["pool"]), datetime.fromisoformat(str(brief["closed"]))
    return found.ledger.receipt(pool, str(brief["lease"]), closed) or brief


def show(view: ReceiptView, words: wording.Wording) -> None:
    """The receipt in a terminal."""
    when = words.stretch(view.opened, view.closed) if view.opened else words.moment(view.closed)
    who = f"for {view.owner}" if view.owner else "without a lease"
    printing.say(f"{view.lease or 'unleased'}: pool {view.pool}, {counted(view.nodes, 'node')} {who}, {when}")
    # What a window opens it opens by itself.
    if view.source != "window" and view.by and view.by != view.owner:
        reason = f": {draw(view.because, ENGLISH, words.moment)}" if view.because else ""
        printing.say(f"opened by {view.by}{reason}")
    zero = view.proof_of_zero
    rows = [
        ("cost", words.money(view.cost)),
        ("of it past the end", words.money(view.overrun) if view.overrun else "-"),
        ("GPU-minutes", "-" if view.gpu_minutes is None else f"{view.gpu_minutes:,}"),
        ("node-hours", f"{view.node_seconds / 3600:.2f}"),
        ("ready after", "-" if view.minutes_to_ready is None else f"{view.minutes_to_ready:g} min"),
        ("GPU checks", SAID[view.verdict.value] if view.verdict else "none"),
        (
            "proof of zero",
            words.moment(zero.at)
            if zero.proven and zero.at
            else "others kept their nodes"
            if zero.at
            else "-",
        ),
    ]
    printing.table(["what", "came to"], rows)
    if view.warm_up:
        stages = [
            (
                words(f"stage.{bar.label}"),
                words.length(bar.length),
                words.usually(bar.usual) if bar.usual else "-",
            )
            for bar in view.warm_up
        ]
        printing.table(["warm-up", "took", "usual"], stages)
    if view.verdict_rows:
        verdicts = [
            (row.node, row.check, SAID.get(row.verdict, row.verdict), draw(row.reason, ENGLISH, words.moment))
            for row in view.verdict_rows
        ]
        printing.table(["node", "check", "verdict", "because"], verdicts)
    for each in view.findings:
        summary, advice = (draw(said, ENGLISH, words.moment) for said in (each.summary, each.advice))
        printing.say(f"{words.moment(each.at)}  {each.cause}: {summary} {advice}".rstrip())
