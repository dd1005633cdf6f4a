"""The certificate authority of one cluster: how a client trusts it, and whether it has a key identifier.

EKS can rotate it. A cluster that was created on Kubernetes 1.16 or older has an authority without key identifiers, and
signs certificates without them (kubernetes-client/python #2394, aws/containers-roadmap #2638).
"""

import ssl
from collections.abc import Iterator

# RFC 5280, 4.2.1.2: id-ce 14, as DER writes an object identifier's value.
_SUBJECT_KEY_IDENTIFIER = bytes([0x55, 0x1D, 14])
# RFC 5280, 4.1: the certificate's extensions are its field [3].
_EXTENSIONS = 0xA3
_LONG_LENGTH = 0x80


def trusting(ca_pem: str) -> ssl.SSLContext:
    """A client's context that trusts this authority alone; ssl.SSLError or ValueError where it is none.

    Python 3.13 by default requires the certificate format of RFC 5280, with key identifiers; older versions do not.
    Here every version has the same flags: chain, dates and host name are verified, the format is not
    (https://docs.python.org/3/library/ssl.html#ssl.create_default_context).
    """
    if not ca_pem:
        # Otherwise Python would trust the machine's own authorities.
        raise ValueError("it is empty")
    if not ca_pem.isascii():
        # Otherwise Python raises TypeError.
        raise ValueError("it is no PEM: it has characters that are not ASCII")
    context = ssl.create_default_context(cadata=ca_pem)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def names_its_key(ca_pem: str) -> bool:
    """Whether every certificate of the authority has a subject key identifier; errors as `trusting`."""
    found = trusting(ca_pem).get_ca_certs(binary_form=True)
    return all(_SUBJECT_KEY_IDENTIFIER in _extensions(each) for each in found)


def _extensions(certificate: bytes) -> set[bytes]:
    """The object identifiers of a DER certificate's extensions."""
    [(_, signed)] = _values(certificate)
    _, to_be_signed = next(_values(signed))
    tagged = [value for tag, value in _values(to_be_signed) if tag == _EXTENSIONS]
    return {
        next(_values(extension))[1]
        for field in tagged
        for _, sequence in _values(field)
        for _, extension in _values(sequence)
    }


def _values(der: bytes) -> Iterator[tuple[int, bytes]]:
    """Tag and value of each element, one after the other (X.690, 8.1)."""
    at = 0
    while at < len(der):
        tag, length, at = der[at], der[at + 1], at + 2
        if length & _LONG_LENGTH:
            digits = length - _LONG_LENGTH
            length, at = int.from_bytes(der[at : at + digits], "big"), at + digits
        yield tag, der[at : at + length]
        at += length
