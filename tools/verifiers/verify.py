# Verifies a delivery with the official Python libraries of Stripe and Standard Webhooks. Reads {secret, body, headers} as JSON; prints two words.
import json
import sys

import stripe
from standardwebhooks import Webhook

question = json.load(sys.stdin)
secret, body, headers = question["secret"], question["body"], question["headers"]


def word(check):
    try:
        check()
        return "accepted"
    except Exception:
        return "refused"


print(
    word(lambda: stripe.WebhookSignature.verify_header(body, headers["x-service-signature"], secret, 300)),
    word(lambda: Webhook(secret).verify(body, headers)),
)
