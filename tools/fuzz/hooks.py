"""Media types that the fuzzer does not know: messages of the protocols and parts of files are bytes."""

import schemathesis

for media_type in ("application/vnd.emanet.upload", "application/vnd.emanet.read", "application/offset+octet-stream"):
    schemathesis.serializer.alias(media_type, "application/octet-stream")
