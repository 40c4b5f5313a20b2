import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, describe, test } from "node:test";
import { promisify } from "node:util";
import { systemClock, systemRandom } from "../clock.ts";
import { type CertificateError, type Certificates, openLocalAuthority, openOwnCertificate } from "./certificates.ts";
import { commandExists, silentLog, startTransport } from "./testing/transport.ts";

const run = promisify(execFile);
const dayMs = 86_400_000;
const startMs = Date.UTC(2031, 4, 17, 12);
const folders: string[] = [];

after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true });
});

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "emanet-tls-"));
  folders.push(folder);
  return path.join(folder, "tls");
}

function movableClock(days = 0): { now(): Date; advance(days: number): void } {
  let nowMs = startMs + days * dayMs;
  return {
    now: () => new Date(nowMs),
    advance: (more) => {
      nowMs += more * dayMs;
    },
  };
}

async function open(folder: string, clock = movableClock(), names: readonly string[] = []): Promise<Certificates> {
  const opened = await openLocalAuthority({ folder, names, clock, random: systemRandom, log: silentLog });
  opened.stop();
  return opened;
}

async function certificateIn(folder: string, name: string): Promise<X509Certificate> {
  return new X509Certificate(await readFile(path.join(folder, name)));
}

function daysLeft(certificate: X509Certificate, now: Date): number {
  return (certificate.validToDate.getTime() - now.getTime()) / dayMs;
}

const refusedAs = (code: string) => (error: CertificateError) => error.code === code;

describe("local authority", () => {
  test("the first start leaves a root and a leaf with private keys that only the owner reads, and no other file", async () => {
    const folder = await newFolder();
    const opened = await open(folder);
    assert.deepEqual((await readdir(folder)).sort(), ["ca.key", "ca.pem", "server.key", "server.pem"]);
    for (const name of ["ca.key", "server.key"]) {
      assert.equal((await stat(path.join(folder, name))).mode & 0o777, 0o600);
    }
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
    assert.equal(opened.caFile, path.join(folder, "ca.pem"));
    const leaf = new X509Certificate(opened.current().cert);
    const root = await certificateIn(folder, "ca.pem");
    assert.ok(root.ca && !leaf.ca);
    assert.ok(leaf.checkIssued(root) && leaf.verify(root.publicKey));
    assert.ok(leaf.checkHost("localhost") && leaf.checkIP("127.0.0.1") && leaf.checkIP("::1"));
    assert.ok(leaf.validToDate.getTime() - leaf.validFromDate.getTime() < 398 * dayMs);
  });

  test("a second start uses what the first one made", async () => {
    const folder = await newFolder();
    const first = (await open(folder)).current();
    assert.deepEqual((await open(folder, movableClock(100))).current(), first);
  });

  test("other names give a new leaf under the same root; the same names in another order and spelling do not", async () => {
    const folder = await newFolder();
    await open(folder);
    const root = await readFile(path.join(folder, "ca.pem"), "utf8");
    const names = ["Yedek.Example.com", "büro.example", "*.ofis.example", "192.0.2.7", "2001:DB8:0::1"];
    const named = (await open(folder, movableClock(), names)).current();
    const leaf = new X509Certificate(named.cert);
    assert.ok(leaf.checkHost("yedek.example.com") && leaf.checkHost("xn--bro-hoa.example"));
    assert.ok(leaf.checkHost("a.ofis.example") && leaf.checkHost("localhost"));
    assert.ok(leaf.checkIP("192.0.2.7") && leaf.checkIP("2001:db8::1"));
    assert.equal(await readFile(path.join(folder, "ca.pem"), "utf8"), root);
    const again = await open(folder, movableClock(), [...names.toReversed(), "LOCALHOST", "[2001:db8::1]"]);
    assert.deepEqual(again.current(), named);
    assert.notDeepEqual((await open(folder)).current(), named);
  });

  test("a name that no certificate can carry is refused with the setting's name", async () => {
    for (const name of ["a b", "-x.example", "", "exa$mple", "*.", "999.1.1.1"]) {
      const opening = open(await newFolder(), movableClock(), [name]);
      await assert.rejects(opening, (error: CertificateError) => /EMANET_TLS_NAMES/.test(error.message));
    }
  });

  test("a running service renews its leaf before it ends, and tells the listener; the root stays", async () => {
    const folder = await newFolder();
    const clock = movableClock();
    const opened = await openLocalAuthority({
      folder,
      names: [],
      clock,
      random: systemRandom,
      log: silentLog,
      checkEveryMs: 1,
    });
    try {
      const first = opened.current();
      const root = await readFile(path.join(folder, "ca.pem"), "utf8");
      const changed = new Promise((resolve) => opened.onChange(resolve));
      clock.advance(390);
      assert.equal(await changed, opened.current());
      assert.notEqual(opened.current().cert, first.cert);
      assert.notEqual(opened.current().key, first.key);
      assert.ok(daysLeft(new X509Certificate(opened.current().cert), clock.now()) > 390);
      assert.equal(await readFile(path.join(folder, "ca.pem"), "utf8"), root);
      assert.equal(await readFile(path.join(folder, "server.pem"), "utf8"), opened.current().cert);
    } finally {
      opened.stop();
    }
  });

  test("no day of eleven years finds an ended leaf or root, and a client that trusts the first root goes on", async () => {
    const folder = await newFolder();
    const clock = movableClock();
    const opened = await open(folder, clock);
    const firstRoot = await certificateIn(folder, "ca.pem");
    for (let day = 0; day < 4015; day += 30) {
      await opened.reload();
      const leaf = new X509Certificate(opened.current().cert);
      const root = await certificateIn(folder, "ca.pem");
      assert.ok(daysLeft(leaf, clock.now()) > 30 && daysLeft(root, clock.now()) > daysLeft(leaf, clock.now()));
      assert.ok(leaf.checkIssued(root) && leaf.verify(root.publicKey));
      assert.ok(leaf.checkIssued(firstRoot) && leaf.verify(firstRoot.publicKey));
      clock.advance(30);
    }
    assert.notEqual((await certificateIn(folder, "ca.pem")).serialNumber, firstRoot.serialNumber);
  });

  test("a clock that was wrong at the first start is forgiven: the certificates are made again", async () => {
    const folder = await newFolder();
    await open(folder, movableClock(3000));
    const leaf = new X509Certificate((await open(folder, movableClock())).current().cert);
    assert.ok(leaf.validFromDate < new Date(startMs));
    assert.ok((await certificateIn(folder, "ca.pem")).validFromDate < new Date(startMs));
  });

  test("a crash between any two writes is repaired by the next start", async () => {
    for (const lost of [["server.pem"], ["server.key"], ["server.pem", "server.key"], ["ca.pem"]]) {
      const folder = await newFolder();
      await open(folder);
      const rootKey = await readFile(path.join(folder, "ca.key"), "utf8");
      for (const name of lost) await rm(path.join(folder, name));
      await writeFile(path.join(folder, "server.pem.new"), "half a certifi", { mode: 0o644 });
      await writeFile(path.join(folder, "server.key.new"), "half a k", { mode: 0o644 });
      const leaf = new X509Certificate((await open(folder)).current().cert);
      assert.ok(leaf.verify((await certificateIn(folder, "ca.pem")).publicKey));
      assert.equal(await readFile(path.join(folder, "ca.key"), "utf8"), rootKey);
      assert.equal((await stat(path.join(folder, "server.key"))).mode & 0o777, 0o600);
    }
  });

  test("a damaged leaf is replaced, a damaged root is never replaced silently", async () => {
    const folder = await newFolder();
    await open(folder);
    await writeFile(path.join(folder, "server.pem"), "-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n");
    assert.ok(new X509Certificate((await open(folder)).current().cert).checkHost("localhost"));

    const other = await newFolder();
    await open(other);
    const rootCertificate = await readFile(path.join(folder, "ca.pem"));
    await writeFile(path.join(folder, "ca.pem"), await readFile(path.join(other, "ca.pem")));
    await assert.rejects(open(folder), refusedAs("key_mismatch"));
    await writeFile(path.join(folder, "ca.pem"), "gone");
    await assert.rejects(open(folder), refusedAs("malformed"));
    await writeFile(path.join(folder, "ca.pem"), rootCertificate);
    await rm(path.join(folder, "ca.key"));
    await assert.rejects(open(folder), refusedAs("unreadable"));
    assert.deepEqual(await readFile(path.join(folder, "ca.pem")), rootCertificate);
  });

  test("a renewal that cannot be written keeps the pair in use and says so", async () => {
    const folder = await newFolder();
    const clock = movableClock();
    const opened = await open(folder, clock);
    const first = opened.current();
    clock.advance(390);
    await rm(folder, { recursive: true });
    await writeFile(folder, "not a folder");
    const outcome = await opened.reload();
    assert.equal(outcome.kind, "failed");
    assert.equal(opened.current(), first);
  });

  test("reloads at the same moment issue once", async () => {
    const clock = movableClock();
    const opened = await open(await newFolder(), clock);
    clock.advance(390);
    const outcomes = await Promise.all([opened.reload(), opened.reload(), opened.reload()]);
    assert.deepEqual(
      outcomes.map((outcome) => outcome.kind),
      ["changed", "unchanged", "unchanged"],
    );
  });
});

describe("own certificate", () => {
  async function ownFiles(): Promise<{ certFile: string; keyFile: string }> {
    const folder = await newFolder();
    await open(folder);
    return { certFile: path.join(folder, "server.pem"), keyFile: path.join(folder, "server.key") };
  }

  test("a new pair in the files is taken on reload", async () => {
    const files = await ownFiles();
    const opened = await openOwnCertificate({ ...files, clock: movableClock(), log: silentLog });
    assert.equal(opened.caFile, null);
    assert.equal((await opened.reload()).kind, "unchanged");
    const next = await ownFiles();
    await writeFile(files.certFile, await readFile(next.certFile));
    await writeFile(files.keyFile, await readFile(next.keyFile));
    let told = "";
    opened.onChange((pair) => {
      told = pair.cert;
    });
    assert.equal((await opened.reload()).kind, "changed");
    assert.equal(told, await readFile(next.certFile, "utf8"));
    assert.equal(opened.current().cert, told);
  });

  test("a pair that does not match, is broken, missing or ended keeps the old one and names the reason", async () => {
    const files = await ownFiles();
    const clock = movableClock();
    const opened = await openOwnCertificate({ ...files, clock, log: silentLog });
    const first = opened.current();
    const other = await ownFiles();
    const expectKept = async (code: string): Promise<void> => {
      const outcome = await opened.reload();
      assert.ok(outcome.kind === "failed" && outcome.error.code === code, `${code}: ${JSON.stringify(outcome)}`);
      assert.equal(opened.current(), first);
    };
    await writeFile(files.keyFile, await readFile(other.keyFile));
    await expectKept("key_mismatch");
    await writeFile(files.keyFile, "not a key");
    await expectKept("malformed");
    await writeFile(files.keyFile, first.key);
    await writeFile(files.certFile, `${first.cert}-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n`);
    await expectKept("malformed");
    await rm(files.certFile);
    await expectKept("unreadable");
    await writeFile(files.certFile, first.cert);
    clock.advance(400);
    await expectKept("expired");
    clock.advance(-800);
    await expectKept("not_yet_valid");
    await assert.rejects(openOwnCertificate({ ...files, clock, log: silentLog }), refusedAs("not_yet_valid"));
  });
});

describe("other verifiers", () => {
  async function realNow(): Promise<{ certificates: Certificates; caFile: string; leafFile: string }> {
    const folder = await newFolder();
    const certificates = await open(folder, { ...systemClock, advance: () => {} }, ["api.emanet.example"]);
    return { certificates, caFile: path.join(folder, "ca.pem"), leafFile: path.join(folder, "server.pem") };
  }

  test("OpenSSL accepts the chain in strict mode", { skip: !commandExists("openssl") && "no openssl" }, async () => {
    const { caFile, leafFile } = await realNow();
    for (const check of [
      ["-verify_hostname", "localhost"],
      ["-verify_ip", "::1"],
      ["-verify_hostname", "api.emanet.example"],
    ]) {
      const options = ["verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", caFile, ...check, leafFile];
      assert.match((await run("openssl", options)).stdout, /: OK/);
    }
    const wrong = run("openssl", ["verify", "-CAfile", caFile, "-verify_hostname", "other.example", leafFile]);
    await assert.rejects(wrong);
  });

  test("Python accepts the chain in strict mode", {
    skip: !commandExists("python3") && "no python3",
  }, async (context) => {
    const { caFile, certificates } = await realNow();
    const server = await startTransport(context, { certificates });
    const script = [
      "import ssl, sys, urllib.request",
      "context = ssl.create_default_context(cafile=sys.argv[1])",
      "context.verify_flags |= ssl.VERIFY_X509_STRICT",
      "print(urllib.request.urlopen(sys.argv[2], context=context).read().decode())",
    ];
    for (const host of ["localhost", "127.0.0.1"]) {
      const url = `https://${host}:${server.port}/`;
      assert.equal((await run("python3", ["-c", script.join("\n"), caFile, url])).stdout.trim(), "ok");
    }
  });
});
