"""`lamplighter receipt`: the receipt of a closed lease, as a table, a JSON document or an HTML page."""

from pathlib import Path
from typing import Annotated, Any

import typer

from cli import deployment, files, printing
from cli.deployment import Deployment
from cli.nearest import did_you_mean
from cli.options import AsJson, LabName
from cli.understand.verdicts import VERDICTS
from lamplighter.adapters.aws.view_reading import receipt_of
from lamplighter.application.views.receipts import receipt_of_lease, receipts_of, with_verdicts
from lamplighter.data.texts import ENGLISH
from lamplighter.domain.people.person import who
from lamplighter.domain.views.receipt_view import ReceiptView
from lamplighter.errors import BadInput
from lamplighter.pages import receipt_page, wording
from lamplighter.reasons.fields import to_document
from lamplighter.values.counted import counted


def command(
    lease: Annotated[str | None, typer.Argument(help="The lease; left out: the newest receipt.")] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write the receipt there, as one HTML file."),
    ] = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Show the receipt of a closed lease: who, when, nodes, checks, cost, proof of zero.

    \b
    Examples:
      lamplighter receipt
      lamplighter receipt evening-2026-12-01 --html receipt.html
      lamplighter receipt --json | jq .cost
    """
    if html is not None:
        files.may_be_written("--html", html)
    deployed = deployment.find(lab_name)
    document = _document(deployed, lease)
    if html is not None:
        files.write("--html", html, page(deployed, document))
    if as_json:
        usual = receipt_of(deployed.ledger, deployed.lab, document).usual_stages()
        printing.as_json({**document, "usual_stages": usual})
    elif html is not None:
        printing.say(f"the receipt of {document.get('lease') or 'nodes without a lease'} is in {html}")
    else:
        show(receipt_of(deployed.ledger, deployed.lab, document), wording.Wording(ENGLISH, deployed.zone))


def page(deployed: Deployment, document: dict[str, Any]) -> str:
    """The page of a receipt."""
    view = receipt_of(deployed.ledger, deployed.lab, document)
    return receipt_page.page(view, deployed.lab.name, deployed.lab.region, wording.of(deployed.lab))


def _document(deployed: Deployment, lease: str | None) -> dict[str, Any]:
    """The named receipt, or the newest that a lease left; where none did, the newest there is."""
    receipts = receipts_of(deployed.lab, deployed.ledger)
    receipt = receipt_of_lease(receipts, lease)
    if receipt is not None:
        return with_verdicts(receipt, deployed.ledger)
    if lease is None or not receipts:
        raise BadInput("there is no receipt yet: the first lease that closes leaves one")
    leases = [str(receipt["lease"]) for receipt in receipts if receipt.get("lease")]
    raise BadInput(
        f"LEASE: there is no receipt of '{lease[:80]}'; the last ones are {', '.join(leases[-3:]) or 'none yet'}"
        f"{did_you_mean(lease, leases)}"
    )


def show(view: ReceiptView, words: wording.Wording) -> None:
    """Print the receipt."""
    when = words.stretch(view.opened, view.closed) if view.opened else words.moment(view.closed)
    whose = f"for {view.owner}" if view.owner else "without a lease"
    printing.say(
        f"{view.lease or 'unleased'}: pool {view.pool}, {counted(view.nodes, 'node')} {whose}, {when}"
    )
    # A window opens by itself: no person is named.
    if view.source != "window" and view.by and who(view.by) != who(view.owner or ""):
        reason = f": {words.told(view.because)}" if view.because else ""
        printing.say(f"opened by {view.by}{reason}")
    if view.experimental:
        printing.say("experimental: its pool is of a kind that nobody has seen on a real account yet")
    zero = view.proof_of_zero
    rows = [
        ("cost", words.money(view.cost) + (f", {words('figure.prepaid')}" if view.prepaid else "")),
        ("past its end", words.money(view.overrun) if view.overrun else "-"),
        ("GPU-minutes", "-" if view.gpu_minutes is None else f"{view.gpu_minutes:,}"),
        ("node-hours", f"{view.node_seconds / 3600:.2f}"),
        ("ready after", "-" if view.minutes_to_ready is None else f"{view.minutes_to_ready:g} min"),
        ("GPU checks", VERDICTS[view.verdict.value] if view.verdict else "none"),
        (
            "proof of zero",
            words.moment(zero.at)
            if zero.proven and zero.at
            else "other leases kept their nodes"
            if zero.at
            else "-",
        ),
    ]
    if view.gpu_use:
        use = {name: f"{hours:,.2f}" for name, hours in to_document(view.gpu_use).items()}
        rows.insert(4, ("GPU-hours used", f"{use['gpu_hours_used']} {words('figure.gpu-hours.of', **use)}"))
    if view.seats and view.seats.used is not None:
        rows.insert(
            4, ("seats used", f"{view.seats.used} {words('figure.seats.of', **to_document(view.seats))}")
        )
    rows += [("left at no cost", words.told(remark)) for remark in zero.remarks]
    printing.table(["what", "value"], rows)
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
            (row.node, row.check, VERDICTS.get(row.verdict, row.verdict), words.told(row.reason))
            for row in view.verdict_rows
        ]
        printing.table(["node", "check", "verdict", "because"], verdicts)
    for finding in view.findings:
        told = f"{words.told(finding.summary)} {words.told(finding.advice)}"
        printing.say(f"{words.moment(finding.at)}  {finding.cause}: {told}".rstrip())
