"""The certificates of one embedded control plane: an authority, servers, a signing key.

They are made at each start, and exist as long as the control plane's work folder.
"""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

#: Before and after now, because a lab may be played on any day of some years.
_LIFE = timedelta(days=20 * 365)


@dataclass(frozen=True)
class KeyPair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes

    def write(self, folder: Path, name: str) -> None:
        """Writes them as `name`.crt and `name`.key. Only the owner can read the key."""
        (folder / f"{name}.crt").write_bytes(self.certificate)
        key = folder / f"{name}.key"
        key.touch(mode=0o600)
        key.write_bytes(self.key)


def trusting(authority: Path | str) -> ssl.SSLContext:
    """A client's context for servers that the authority in a file, or in a PEM, signed, with key identifiers or
    without.
    """
    if isinstance(authority, str):
        context = ssl.create_default_context(cadata=authority)
    else:
        context = ssl.create_default_context(cafile=authority)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


class Authority:
    """A certificate authority of our own, with elliptic keys: RSA keys would take a tenth of the start.

    Without `names_keys`, neither it nor its certificates have key identifiers, as in clusters that EKS first created on
    Kubernetes 1.16 or older (aws/containers-roadmap #2638).
    """

    def __init__(self, name: str, *, names_keys: bool = True) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._names_keys = names_keys
        draft = (
            _builder(self._name, self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_usage(signs=True), critical=True)
        )
        if names_keys:
            own = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
            draft = draft.add_extension(own, critical=False)
        self._certificate = draft.sign(self._key, hashes.SHA256())

    @property
    def pem(self) -> bytes:
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def server(self, name: str, hosts: list[str]) -> KeyPair:
        """A certificate for a server on loopback that also has the names in `hosts`."""
        names = [x509.IPAddress(IPv4Address("127.0.0.1")), *(x509.DNSName(host) for host in hosts)]
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        draft = (
            _builder(subject, self._name, key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
        )
        if self._names_keys:
            own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
            issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
            draft = draft.add_extension(own, critical=False).add_extension(issuer, critical=False)
        certificate = draft.sign(self._key, hashes.SHA256())
        return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), _pem(key))


def signing_key() -> bytes:
    """A private key, PEM, with which the control plane signs service account tokens."""
    return _pem(ec.generate_private_key(ec.SECP256R1()))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _LIFE)
        .not_valid_after(now + _LIFE)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        # The API server reads an elliptic key only in this older format.
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
