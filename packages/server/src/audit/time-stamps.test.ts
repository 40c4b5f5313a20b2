import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { needs } from "../testing/needs.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { timeStampName } from "./checkpoints.ts";
import { auditTest } from "./testing.ts";

const run = promisify(execFile);
const folder = await temporaryFolder({ after });
const file = (name: string) => path.join(folder, name);

/** An authority: openssl signs what is posted. */
async function startAuthority(openssl: string): Promise<string> {
  await writeFile(
    file("tsa.cnf"),
    [
      "[tsa]\ndefault_tsa = own\n[own]\nserial = serial\nsigner_cert = tsa.pem\nsigner_key = tsa.key\ncerts = tsa.pem",
      "signer_digest = sha256\ndefault_policy = 1.2.3.4\ndigests = sha256\naccuracy = secs:1\ness_cert_id_alg = sha256",
      "[req]\ndistinguished_name = dn\n[dn]\n[ext]\nextendedKeyUsage = critical,timeStamping\nbasicConstraints = CA:TRUE\n",
    ].join("\n"),
  );
  await writeFile(file("serial"), "01\n");
  const subject = ["-subj", "/CN=Test Authority", "-days", "30", "-config", file("tsa.cnf"), "-extensions", "ext"];
  const key = ["-newkey", "rsa:2048", "-nodes", "-keyout", file("tsa.key"), "-out", file("tsa.pem")];
  await run(openssl, ["req", "-x509", ...key, ...subject]);
  let queries = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const [query, reply] = [file(`${++queries}.tsq`), file(`${queries}.tsr`)];
    await writeFile(query, Buffer.concat(chunks));
    const args = ["ts", "-reply", "-config", "tsa.cnf", "-section", "own", "-queryfile", query, "-out", reply];
    await run(openssl, args, { cwd: folder });
    response.setHeader("content-type", "application/timestamp-reply").end(await readFile(reply));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test("a checkpoint gets a time stamp that openssl verifies, beside it in the object store", async (t) => {
  const openssl = needs(t, "openssl");
  if (openssl === undefined) return;
  const url = await startAuthority(openssl);
  const env = await auditTest({ after: (done) => t.after(done) }, { EMANET_AUDIT_TSA_URL: url });
  await env.act(1);
  await env.get("/v1/audit/export");
  const made = await env.until(async () => {
    const query =
      "select jws, time_stamp from emanet.audit_checkpoints where chain = $1 and seq = 1 and stored_at is not null";
    return (await env.rows<{ jws: string; time_stamp: Buffer }>(query, [env.accountId]))[0] ?? null;
  });
  const store = await env.service.running.services?.audit.openStore();
  const stamp = Buffer.from((await store?.get(timeStampName(env.accountId, 1))) ?? []);
  assert.deepEqual(stamp, made.time_stamp);
  await writeFile(file("checkpoint.jws"), made.jws);
  await writeFile(file("checkpoint.tsr"), stamp);
  const verify = (data: string) =>
    run(openssl, ["ts", "-verify", "-data", data, "-in", file("checkpoint.tsr"), "-CAfile", file("tsa.pem")]);
  assert.match((await verify(file("checkpoint.jws"))).stdout, /Verification: OK/);
  await writeFile(file("other.jws"), `${made.jws}x`);
  await assert.rejects(verify(file("other.jws")));
});
