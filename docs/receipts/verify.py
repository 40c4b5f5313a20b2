# python3 verify.py RECEIPT KEYS [TYPE]: checks a receipt of Emanet without the service. Needs the package "cryptography".
# A proof of erasure is checked with TYPE emanet-erasure+jws.
import base64
import json
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


try:
    header, payload, signature = open(sys.argv[1]).read().strip().split(".")
    names = json.loads(decoded(header))
    if names["alg"] != "EdDSA" or names["typ"] != (sys.argv + ["emanet-receipt+jws"])[3]:
        raise ValueError
    key = next(key for key in json.load(open(sys.argv[2]))["keys"] if key["kid"] == names["kid"])
    Ed25519PublicKey.from_public_bytes(decoded(key["x"])).verify(decoded(signature), f"{header}.{payload}".encode())
    print(decoded(payload).decode())
except (InvalidSignature, KeyError, StopIteration, ValueError):
    sys.exit("The receipt is not valid.")
