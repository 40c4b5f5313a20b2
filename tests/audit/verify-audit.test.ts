// long: 15 s
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, describe, test } from "node:test";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { Bad, readEarlier, readKeys, verifyExport } from "../../docs/audit/verify-audit.mjs";
import { auditTest } from "../../packages/server/src/audit/testing.ts";
import { systemRandom } from "../../packages/server/src/kernel/clock.ts";
import { createTransactions } from "../../packages/server/src/kernel/tx.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { silentLog } from "../../packages/server/src/testing/database.ts";
import { needs } from "../../packages/server/src/testing/needs.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { seededRandom } from "../../packages/server/src/testing/seeded-random.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";

const env = await auditTest({ after });
const folder = await temporaryFolder({ after });
const other = await tokenFor(env.service);
const formats = ["ndjson", "csv", "cef", "json"] as const;

const transactions = createTransactions(env.service.database.app, env.service.clock, systemRandom, silentLog);

/** Records of every form: odd texts, numbers and names. */
async function write(accountId: string, count: number): Promise<void> {
  const context = {
    actor: { kind: "member", id: other.personId ?? "" },
    context: { request_id: "r-1", operation: "tests.act", address: "192.0.2.0/24" },
    signal: new AbortController().signal,
  } as const;
  const odd = ["=1+1", 'a"b', "x;y", "a|b\\c=d", "ı İ 👍 \u2028", "\t\n\r", "", "@SUM(A1)", " end "];
  for (let i = 0; i < count; i++) {
    await transactions.run(context, { kind: "account", accountId }, async (tx) =>
      tx.audit({
        action: "test.written",
        targets: [{ type: "note", id: String(i) }],
        outcome: i % 7 === 0 ? "failure" : "success",
        metadata: { text: odd[i % odd.length] ?? "", number: [1e21, 5e-324, -0.5, 1e-7, 123456789012][i % 5] ?? 0, i },
      }),
    );
    env.service.clock.advance(1000);
  }
}

async function exported(format: string, query = "", auth?: { authorization: string }): Promise<Buffer> {
  const target = `/v1/audit/export?format=${format}${query}`;
  const answer = auth ? await env.service.send("GET", target, { headers: auth }) : await env.get(target);
  assert.equal(answer.status, 200, answer.body.toString());
  return answer.body;
}

await write(env.accountId, 12);
await exported("ndjson");
env.service.clock.advance(10 * 60_000);
await write(env.accountId, 12);
await write(other.accountId ?? "", 24);
const keyText = (await env.service.send("GET", "/.well-known/emanet-keys.json")).body.toString();
const keys = readKeys(keyText);
const times = (
  await env.rows<{ at: Date }>(
    "select occurred_at as at from emanet.audit_records where account_id = $1 order by seq",
    [env.accountId],
  )
).map(({ at }) => at.toISOString());
const otherAuth = (await tokenFor(env.service, { accountId: other.accountId ?? "" })).auth;

interface Sample {
  readonly format: string;
  readonly bytes: Buffer;
  readonly other: Buffer;
}

const samples: Sample[] = [];
for (const format of formats)
  samples.push({ format, bytes: await exported(format), other: await exported(format, "", otherAuth) });

async function findingOf(bytes: Uint8Array, earlier?: Map<string, string>): Promise<string | null> {
  try {
    await verifyExport([bytes], keys, earlier);
    return null;
  } catch (error) {
    if (error instanceof Bad) return error.place;
    throw error;
  }
}

test("clean exports of every format and time are good, however they are cut into chunks", async () => {
  const random = seededRandom(11);
  for (let i = 0; i < scaled(40, 1000); i++) {
    const [from, to] = [random.integer(times.length), random.integer(times.length)];
    const format = formats[i % formats.length] ?? "ndjson";
    const query = i < 4 ? "" : `&from=${times[Math.min(from, to)]}&to=${times[Math.max(from, to)]}`;
    const bytes = await exported(format, query);
    const at = random.integer(bytes.length);
    const summary = await verifyExport([bytes.subarray(0, at), bytes.subarray(at)], keys);
    assert.equal(summary.format, format);
    if (i >= 4) assert.equal(summary.records, Math.abs(to - from));
  }
});

type SeededRandom = ReturnType<typeof seededRandom>;
type Mutation = (sample: Sample, random: SeededRandom) => { bytes: Buffer; expected: readonly string[] | null };

/** The lines, and the place that a finding about each may name. */
function linesOf({ bytes, format }: Sample): { lines: Buffer[]; places: string[][] } {
  const lines: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(10, at) + 1;
    lines.push(bytes.subarray(at, end));
    at = end;
  }
  let seq = 0;
  const places = lines.map((line, index) => {
    const text = line.toString();
    if (index === 0 || (format === "csv" && index === 1)) return ["opening"];
    if (index === lines.length - 1) return ["closing", `record ${seq + 1}`];
    if (/"kind":"checkpoint"|^checkpoint,|emanet\.checkpoint/.test(text))
      return [`checkpoint after record ${seq}`, `record ${seq + 1}`, `record ${seq}`];
    seq += 1;
    return [`record ${seq}`];
  });
  return { lines, places };
}

/** A line that is neither of the opening nor the closing one. */
const between = (random: SeededRandom, lines: readonly Buffer[]) => 2 + random.integer(lines.length - 3);

function mutations(stranger: KeyObject): Readonly<Record<string, Mutation>> {
  return { ...changesInLines, ...changesOfLines, ...changesOfFiles(stranger) };
}

const changesInLines: Readonly<Record<string, Mutation>> = {
  "change of a byte": (sample, random) => {
    const { lines, places } = linesOf(sample);
    const at = random.integer(lines.length);
    const line = Buffer.from(lines[at] ?? "");
    line[random.integer(line.length)] = random.integer(256);
    return { bytes: Buffer.concat(lines.toSpliced(at, 1, line)), expected: places[at] ?? [] };
  },
  "insertion or deletion inside a line": (sample, random) => {
    const { lines, places } = linesOf(sample);
    const at = random.integer(lines.length);
    const line = lines[at] ?? Buffer.alloc(0);
    const where = random.integer(line.length - 2);
    const removed = random.integer(4);
    const added = Buffer.from(' 0"x,=|'.slice(0, random.integer(3)));
    const changed = Buffer.concat([line.subarray(0, where), added, line.subarray(where + removed)]);
    return { bytes: Buffer.concat(lines.toSpliced(at, 1, changed)), expected: places[at] ?? [] };
  },
  "change of a name or a word": (sample, random) => {
    const { lines, places } = linesOf(sample);
    const at = between(random, lines);
    const text = lines[at]?.toString() ?? "";
    const words = [...text.matchAll(/[A-Za-z]{4,}/g)];
    const word = words[random.integer(words.length)];
    const changed = Buffer.from(`${text.slice(0, word?.index)}Zzzz${text.slice((word?.index ?? 0) + 4)}`);
    return { bytes: Buffer.concat(lines.toSpliced(at, 1, changed)), expected: places[at] ?? [] };
  },
};

const changesOfLines: Readonly<Record<string, Mutation>> = {
  "a line that is taken out": (sample, random) => {
    const { lines, places } = linesOf(sample);
    const at = between(random, lines);
    return {
      bytes: Buffer.concat(lines.toSpliced(at, 1)),
      expected: [...(places[at] ?? []), ...(places[at + 1] ?? [])],
    };
  },
  "a line that is put in": (sample, random) => {
    const { lines, places } = linesOf(sample);
    const [from, to] = [between(random, lines), between(random, lines)];
    const copy = lines[from] ?? Buffer.alloc(0);
    return {
      bytes: Buffer.concat(lines.toSpliced(to, 0, copy)),
      expected: [...(places[to] ?? []), ...(places[to - 1] ?? []), ...(places[to + 1] ?? [])],
    };
  },
  "two lines in each other's place": (sample, random) => {
    const { lines, places } = linesOf(sample);
    const [a, b] = [between(random, lines), between(random, lines)].sort((x, y) => x - y) as [number, number];
    const swapped = lines.with(a, lines[b] ?? Buffer.alloc(0)).with(b, lines[a] ?? Buffer.alloc(0));
    return {
      bytes: Buffer.concat(swapped),
      expected: [...(places[a] ?? []), ...(places[a - 1] ?? []), ...(places[a + 1] ?? [])],
    };
  },
};

function changesOfFiles(stranger: KeyObject): Readonly<Record<string, Mutation>> {
  return {
    "an end that is cut off": (sample, random) => {
      const cut = 1 + random.integer(sample.bytes.length - 1);
      return { bytes: sample.bytes.subarray(0, cut), expected: null };
    },
    "signatures of another key": (sample, random) => {
      const text = sample.bytes.toString();
      const found = [...text.matchAll(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g)];
      const one = random.integer(found.length + 1);
      const bytes = Buffer.from(
        text.replaceAll(/(eyJ[\w-]+)\.([\w-]+)\.[\w-]+/g, (jws, header, payload) => {
          if (one < found.length && jws !== found[one]?.[0]) return jws;
          const signature = sign(null, Buffer.from(`${header}.${payload}`), stranger).toString("base64url");
          return `${header}.${payload}.${signature}`;
        }),
      );
      return { bytes, expected: null };
    },
    "two accounts that are spliced": (sample, random) => {
      const { lines } = linesOf(sample);
      const foreign = linesOf({ ...sample, bytes: sample.other }).lines;
      const at = 1 + random.integer(Math.min(lines.length, foreign.length) - 2);
      return { bytes: Buffer.concat([...lines.slice(0, at), ...foreign.slice(at)]), expected: null };
    },
  };
}

describe("mutations", () => {
  const count = scaled(400, 10_000);
  const stranger = generateKeyPairSync("ed25519").privateKey;

  for (const [name, mutate] of Object.entries(mutations(stranger)))
    test(`${name}: every one is found, at its place`, async () => {
      const random = seededRandom(23);
      for (let i = 0; i < Math.ceil(count / 8); i++) {
        const sample = samples[i % samples.length] ?? assert.fail("no sample");
        const { bytes, expected } = mutate(sample, random);
        // The header of a CSV is the same in all: a cut behind it leaves the whole export of the other account.
        if (bytes.equals(sample.bytes) || bytes.equals(sample.other)) continue;
        const place = await findingOf(bytes);
        assert.ok(place !== null, `${name} ${i} (${sample.format}) was not found`);
        if (expected !== null)
          assert.ok(
            expected.includes(place),
            `${name} ${i} (${sample.format}): ${place}, expected ${expected.join(" or ")}`,
          );
      }
    });
});

describe("the command", () => {
  const run = promisify(execFile);
  const script = path.resolve(import.meta.dirname, "../../docs/audit/verify-audit.mjs");
  const keyFile = path.join(folder, "keys.json");
  const code = async (program: string, args: readonly string[]) =>
    run(program, [...args]).then(
      ({ stdout }) => [0, stdout] as const,
      (error: { code: number; stdout: string }) => [error.code, error.stdout] as const,
    );

  test("0 for a good file, also compressed; 1 for a bad one with the first bad record; 2 without a file or keys", async () => {
    await writeFile(keyFile, keyText);
    const [sample] = samples;
    const bytes = sample?.bytes ?? Buffer.alloc(0);
    const text = bytes.toString();
    const files = {
      good: bytes,
      zipped: gzipSync(bytes),
      bad: text.replace('"i": 5', '"i": 6'),
      cut: gzipSync(bytes).subarray(0, 500),
    };
    for (const [name, content] of Object.entries(files)) await writeFile(path.join(folder, name), content);
    const verify = (...args: string[]) => code(process.execPath, [script, ...args]);
    const [good, said] = await verify(path.join(folder, "good"), "--keys", keyFile);
    assert.equal(good, 0);
    assert.match(said, /^good: chain [0-9a-f-]{36}, records 1 to \d+/);
    assert.equal((await verify(path.join(folder, "zipped"), "--keys", keyFile))[0], 0);
    assert.deepEqual(await verify(path.join(folder, "bad"), "--keys", keyFile), [
      1,
      "bad: record 6: its hash is not that of its content\n",
    ]);
    assert.equal((await verify(path.join(folder, "cut"), "--keys", keyFile))[0], 1);
    for (const args of [
      [],
      ["x"],
      [path.join(folder, "missing"), "--keys", keyFile],
      [path.join(folder, "good"), "--keys", script],
    ])
      assert.equal((await verify(...args))[0], 2, args.join(" "));
  });

  test("an independent verifier, written from the document, agrees", async (t) => {
    const python = needs(t, "python");
    if (python === undefined) return;
    const script = path.resolve(import.meta.dirname, "../../docs/audit/verify_audit.py");
    await writeFile(keyFile, keyText);
    const random = seededRandom(5);
    for (const sample of samples) {
      const file = path.join(folder, `export.${sample.format}`);
      await writeFile(file, sample.bytes);
      assert.deepEqual(await code(python, [script, file, keyFile]), [0, "good\n"], sample.format);
      for (const mutate of Object.values(mutations(generateKeyPairSync("ed25519").privateKey)).slice(0, scaled(2, 9))) {
        const { bytes } = mutate(sample, random);
        if (bytes.equals(sample.bytes)) continue;
        await writeFile(file, bytes);
        assert.equal((await code(python, [script, file, keyFile]))[0], 1, sample.format);
      }
    }
  });
});

describe("against an earlier checkpoint", () => {
  test("a rewritten history with right hashes and signatures is found", async () => {
    const before = await exported("ndjson");
    const earlier = await readEarlier([before], keys);
    assert.ok(earlier.size >= 2);
    assert.equal((await verifyExport([await exported("json")], keys, earlier)).compared > 0, true);
    const rewritten = new Map(
      [...earlier].map(([place, hash]) => [place, place.endsWith(" 12") ? "f".repeat(64) : hash]),
    );
    assert.equal(await findingOf(await exported("csv"), rewritten), "record 12");
  });
});
