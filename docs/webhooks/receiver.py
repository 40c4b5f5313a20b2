# A receiver of webhooks with what Python brings. Put a proxy with TLS in front of it.
#   EMANET_WEBHOOK_SECRET=whsec_… PORT=8080 python3 receiver.py
import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["EMANET_WEBHOOK_SECRET"].encode()
TOLERANCE_SECONDS = 300


def is_genuine(header: str, body: bytes) -> bool:
    parts = [part.partition("=")[::2] for part in header.split(",")]
    sent_at = next((value for name, value in parts if name == "t"), "")
    if not sent_at.isdigit() or abs(time.time() - int(sent_at)) > TOLERANCE_SECONDS:
        return False
    expected = hmac.new(SECRET, sent_at.encode() + b"." + body, hashlib.sha256).hexdigest()
    # After a rotation there is one v1 for each secret that is still valid.
    return any(name == "v1" and hmac.compare_digest(value.encode(), expected.encode()) for name, value in parts)


seen = set()  # In production: a table with a unique key.


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))  # The bytes as they came.
        if not is_genuine(self.headers.get("x-service-signature", ""), body):
            return self.answer(400)
        event_id = self.headers["webhook-id"]
        if event_id not in seen:
            seen.add(event_id)
            event = json.loads(body)
            print(event["event"], event["event_id"], flush=True)
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Receiver).serve_forever()
