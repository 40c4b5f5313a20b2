// Verifies a delivery with the official npm packages of Stripe and Standard Webhooks. Reads {secret, body, headers} as JSON; prints two words.
// They are installed in .cache, beside a copy of this file, and are no packages of the project.
const [{ Webhook }, { default: Stripe }] = await Promise.all(
  ["standardwebhooks", "stripe"].map((name) => import(name)),
);

let text = "";
for await (const chunk of process.stdin) text += chunk;
const { secret, body, headers } = JSON.parse(text);
const stripe = new Stripe("sk_test_unused");

function word(check) {
  try {
    check();
    return "accepted";
  } catch {
    return "refused";
  }
}

const words = [
  word(() => stripe.webhooks.signature.verifyHeader(body, headers["x-service-signature"], secret, 300)),
  word(() => new Webhook(secret).verify(body, headers)),
];
process.stdout.write(`${words.join(" ")}\n`);
