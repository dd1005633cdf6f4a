"""The parts of a MIME archive, the form in which cloud-init takes several kinds of user data at once."""

from email import message_from_string


def parts(text: str) -> list[tuple[str, str]]:
    """Content type and body of each part; empty if the text is no MIME archive."""
    message = message_from_string(text.lstrip())
    if not message.is_multipart():
        return []
    return [(part.get_content_type(), _body(part.get_payload(decode=True))) for part in message.walk()][1:]


def _body(payload: object) -> str:
    return payload.decode("utf-8", "replace") if isinstance(payload, bytes) else ""
