"""Media types that the fuzzer does not know: messages of the upload protocol and parts of files are bytes."""

import schemathesis

for media_type in ("application/vnd.emanet.upload", "application/offset+octet-stream"):
    schemathesis.serializer.alias(media_type, "application/octet-stream")
