// node verify.mjs RECEIPT KEYS [TYPE]: checks a receipt of Emanet without the service. Node 20 or later.
// A proof of erasure is checked with TYPE emanet-erasure+jws.
import { createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";

const [receipt, keys] = process.argv.slice(2, 4).map((file) => readFileSync(file, "utf8"));
const type = process.argv[4] ?? "emanet-receipt+jws";
const decoded = (text) => Buffer.from(text, "base64url");
try {
  const [header, payload, signature, ...more] = receipt.trim().split(".");
  const { alg, kid, typ } = JSON.parse(decoded(header));
  if (alg !== "EdDSA" || typ !== type || more.length > 0) throw new Error();
  const key = createPublicKey({ key: JSON.parse(keys).keys.find((one) => one.kid === kid), format: "jwk" });
  if (!verify(null, Buffer.from(`${header}.${payload}`), key, decoded(signature))) throw new Error();
  process.stdout.write(`${decoded(payload)}\n`);
} catch {
  process.stderr.write("The receipt is not valid.\n");
  process.exitCode = 1;
}
