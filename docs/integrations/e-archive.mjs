// After an e-archive transmission: stores the document in one call and keeps a receipt that can be checked without the service.
//
//   node e-archive.mjs DOCUMENT RECEIPTS
//
// RECEIPTS is a folder: <name>.jws is the receipt, keys.json the keys of the service. The receipt is checked before it is kept.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { call } from "./client.mjs";

const [document, receipts] = process.argv.slice(2);
if (document === undefined || receipts === undefined) {
  console.error("usage: node e-archive.mjs DOCUMENT RECEIPTS");
  process.exit(2);
}

const bytes = readFileSync(document);
const name = path.basename(document);
const digest = createHash("sha256").update(bytes).digest();

// The key is the content: the same transmission again gets the same snapshot.
const query = new URLSearchParams({ source: "e-arsiv", path: name, trigger: "e_archive", external_reference: name });
const made = await call("POST", `/v1/snapshots?${query}`, {
  body: bytes,
  headers: {
    "content-type": "application/octet-stream",
    "content-digest": `sha-256=:${digest.toString("base64")}:`,
    "idempotency-key": `e-arsiv-${digest.toString("hex").slice(0, 40)}`,
  },
});
const { id } = JSON.parse(made.body);

mkdirSync(receipts, { recursive: true });
const [receiptFile, keysFile] = [path.join(receipts, `${name}.jws`), path.join(receipts, "keys.json")];
writeFileSync(receiptFile, (await call("GET", `/v1/snapshots/${id}/receipt`)).body);
writeFileSync(keysFile, (await call("GET", "/.well-known/emanet-keys.json")).body);

// Without the service from here on.
const verifier = path.join(path.dirname(fileURLToPath(import.meta.url)), "../receipts/verify.mjs");
execFileSync(process.execPath, [verifier, receiptFile, keysFile], { stdio: ["ignore", "ignore", "inherit"] });
const { files = [] } = JSON.parse(Buffer.from(readFileSync(receiptFile, "utf8").split(".")[1], "base64url").toString());
const signed = files.find((file) => file.path === name)?.sha256;
if (signed !== digest.toString("hex")) {
  console.error(`the receipt is of another content: ${signed}`);
  process.exit(1);
}
console.log(`${name} ${id} ${signed}`);
