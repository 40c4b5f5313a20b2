"""Media types that the fuzzer does not know: messages of the upload protocol are bytes."""

import schemathesis

schemathesis.serializer.alias("application/vnd.emanet.upload", "application/octet-stream")
