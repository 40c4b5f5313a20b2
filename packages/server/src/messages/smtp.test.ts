import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { before, describe, type TestContext, test } from "node:test";
import { TLSSocket } from "node:tls";
import { systemRandom } from "../kernel/clock.ts";
import { issueAuthority, issueLeaf } from "../kernel/transport/issue.ts";
import { type OutgoingMail, PermanentDeliveryError, TransientDeliveryError } from "./ports.ts";
import { createSmtpMail, parseSmtpUrl, type SmtpServer } from "./smtp.ts";

const clock = { now: () => new Date("2026-03-01T09:30:00.000Z") };
const from = "Emanet <noreply@emanet.example>";
const mail: OutgoingMail = {
  id: "0198c0de-0000-7000-8000-00000000abcd",
  to: "ada@mukellef.example",
  subject: "Başvurunuzu aldık",
  text: "Merhaba,\n\nçok güzel.\n",
  template: "application_received",
  language: "tr",
};

interface Script {
  readonly startTls?: boolean;
  /** Answers by the first word of a command, or by `greeting` and `message`; the rest is accepted. */
  readonly answers?: Readonly<Record<string, string>>;
  /** Says nothing at all. */
  readonly silent?: boolean;
  readonly hangUp?: boolean;
  /** TLS from the first byte. */
  readonly implicitTls?: boolean;
}

interface Double {
  readonly port: number;
  readonly commands: string[];
  readonly messages: string[];
  /** Commands that came before TLS. */
  readonly plain: string[];
}

const tls = { key: "", cert: "" };
/** The authority that signs the certificates of the test servers. Only tests that say so trust it. */
let ca = "";

before(async () => {
  const now = new Date();
  const authority = await issueAuthority(now, systemRandom);
  ca = authority.cert;
  Object.assign(tls, await issueLeaf(authority, ["127.0.0.1"], now, systemRandom));
});

/** A mail server that follows a script. Its certificate names 127.0.0.1. */
async function smtpServer(t: TestContext, script: Script = {}): Promise<Double> {
  const double = { port: 0, commands: [] as string[], messages: [] as string[], plain: [] as string[] };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    if (script.hangUp) socket.destroy();
    if (script.silent || script.hangUp) return;
    const secure = script.implicitTls ? new TLSSocket(socket, { isServer: true, ...tls }) : socket;
    secure.on("error", () => undefined);
    secure.write(script.answers?.greeting ?? "220 mail.test.invalid ESMTP\r\n");
    converse(secure, script, double, script.implicitTls === true);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return Object.assign(double, { port: (server.address() as AddressInfo).port });
}

function converse(socket: Socket, script: Script, double: Omit<Double, "port">, secured: boolean): void {
  const lines = createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY });
  let message: string[] | undefined;
  lines.on("line", (line) => {
    if (message !== undefined) {
      if (line !== ".") return void message.push(line);
      double.messages.push(message.join("\n"));
      message = undefined;
      return void socket.write(script.answers?.message ?? "250 taken\r\n");
    }
    double.commands.push(line);
    if (!secured) double.plain.push(line);
    const word = line.split(" ", 1)[0]?.toUpperCase() ?? "";
    if (word === "STARTTLS" && script.startTls) {
      socket.write("220 go\r\n");
      lines.close();
      const secure = new TLSSocket(socket, { isServer: true, ...tls });
      secure.on("error", () => undefined);
      return converse(secure, script, double, true);
    }
    const answer = script.answers?.[word];
    if (word === "DATA" && answer === undefined) message = [];
    socket.write(answer ?? answerTo(word, script, secured));
  });
}

function answerTo(word: string, script: Script, secured: boolean): string {
  const offer = script.startTls && !secured ? "250-STARTTLS\r\n" : "";
  if (word === "EHLO") return `250-mail.test.invalid\r\n${offer}250 AUTH PLAIN\r\n`;
  if (word === "STARTTLS") return "502 not here\r\n";
  if (word === "AUTH") return "235 welcome\r\n";
  if (word === "DATA") return "354 go on\r\n";
  if (word === "QUIT") return "221 bye\r\n";
  return "250 fine\r\n";
}

/** A port without TLS, for tests that are not about TLS. */
function port(double: Double, changes: Partial<SmtpServer> = {}) {
  const server = { ...parseSmtpUrl(`smtp://127.0.0.1:${double.port}?tls=off`), ...changes };
  return createSmtpMail({ server, from, clock });
}

/** A port for the URL; `trusted` says whether it knows the authority. */
function portOf(url: string, trusted = true) {
  return createSmtpMail({ server: { ...parseSmtpUrl(url), ...(trusted && { ca }) }, from, clock });
}

describe("mail by SMTP", () => {
  test("a mail arrives with sender, recipient, subject, text and an id that contains the message id", async (t) => {
    const server = await smtpServer(t);
    await port(server).send(mail);
    const [message = ""] = server.messages;
    assert.ok(server.commands.includes("MAIL FROM:<noreply@emanet.example>"));
    assert.ok(server.commands.includes("RCPT TO:<ada@mukellef.example>"));
    assert.match(message, /^Message-ID: <0198c0de-0000-7000-8000-00000000abcd@emanet\.example>$/m);
    assert.match(message, /^From: "?Emanet"? <noreply@emanet\.example>$/m);
    assert.match(message, /^To: ada@mukellef\.example$/m);
    assert.match(message, /^Date: Sun, 01 Mar 2026 09:30:00 \+0000$/m);
    assert.match(message, /^Auto-Submitted: auto-generated$/m);
    assert.doesNotMatch(message, /mailer/i);
    assert.match(message, /^Subject: =\?UTF-8\?/m);
    assert.match(message, /=C3=A7ok g=C3=BCzel\.|çok güzel\./);
  });

  test("an html part is sent together with the text", async (t) => {
    const server = await smtpServer(t);
    await port(server).send({ ...mail, html: "<p>Merhaba</p>" });
    assert.match(server.messages[0] ?? "", /multipart\/alternative.*text\/plain.*text\/html/s);
  });

  test("a recipient or subject that could add a header or a recipient is refused before anything is sent", async (t) => {
    const server = await smtpServer(t);
    const recipients = [
      "ada@mukellef.example\r\nBcc: eve@x.example",
      "ada@mukellef.example, eve@x.example",
      "Ada <ada@mukellef.example>",
      '"a b"@mukellef.example',
      "ada@mukellef.example>",
      "group:ada@mukellef.example;",
      "ada@[127.0.0.1]",
      "ada",
      `${"a".repeat(300)}@mukellef.example`,
      "",
    ];
    for (const to of recipients) {
      await assert.rejects(port(server).send({ ...mail, to }), permanent("invalid_recipient"), to);
    }
    await assert.rejects(
      port(server).send({ ...mail, subject: "a\r\nBcc: eve@x.example" }),
      permanent("invalid_subject"),
    );
    await assert.rejects(port(server).send({ ...mail, id: "a>\r\nX: y" }), permanent("invalid_id"));
    assert.deepEqual(server.commands, []);
  });

  test("a path or a URL in the text does not make the mailer read a file or fetch the URL", async (t) => {
    const server = await smtpServer(t);
    await port(server)
      .send({ ...mail, text: { path: "/etc/passwd" } as never })
      .catch(() => undefined);
    assert.doesNotMatch(server.messages.join(""), /root:/);
  });

  test("a 5xx answer about the recipient or the content is permanent, a 4xx is not, and neither error quotes the mail", async (t) => {
    const cases = [
      [{ RCPT: "550 ada@mukellef.example unknown\r\n" }, permanent("smtp_550")],
      [{ RCPT: "450 greylisted ada@mukellef.example\r\n" }, transient("smtp_450")],
      [{ message: "554 spam from ada@mukellef.example\r\n" }, permanent("smtp_554")],
      [{ message: "451 later\r\n" }, transient("smtp_451")],
      [{ DATA: "552 too much\r\n" }, permanent("smtp_552")],
      [{ MAIL: "550 sender noreply@emanet.example refused\r\n" }, transient("smtp_550")],
      [{ greeting: "554 no service\r\n" }, transient("smtp_554")],
      [{ greeting: "421 busy\r\n" }, transient("smtp_421")],
    ] as const;
    for (const [answers, expected] of cases) {
      const server = await smtpServer(t, { answers });
      await assert.rejects(port(server).send(mail), expected, JSON.stringify(answers));
    }
  });

  test("refused credentials are a transient error: mails wait until the settings are corrected", async (t) => {
    const server = await smtpServer(t, { answers: { AUTH: "535 wrong password for emanet\r\n" } });
    const auth = { user: "emanet", pass: "gizli" };
    await assert.rejects(port(server, { auth }).send(mail), transient("smtp_535"));
  });

  test("smtp: without STARTTLS sends neither credentials nor mail, also to loopback", async (t) => {
    for (const user of ["", "emanet:gizli@"]) {
      const server = await smtpServer(t);
      await assert.rejects(portOf(`smtp://${user}127.0.0.1:${server.port}`).send(mail), transient("smtp_tls"));
      assert.ok(
        server.commands.every((command) => !/^(?:AUTH|MAIL|RCPT)/.test(command)),
        server.commands.join(),
      );
      assert.deepEqual(server.messages, []);
    }
  });

  test("smtp: starts TLS, verifies the certificate, and sends everything else encrypted", async (t) => {
    const server = await smtpServer(t, { startTls: true });
    await portOf(`smtp://emanet:gizli@127.0.0.1:${server.port}`).send(mail);
    assert.equal(server.messages.length, 1);
    assert.deepEqual(
      server.plain.map((line) => line.split(" ", 1)[0]),
      ["EHLO", "STARTTLS"],
    );
  });

  test("a certificate of another authority, or for another name, ends the delivery before any command", async (t) => {
    for (const scheme of ["smtp", "smtps"]) {
      const server = await smtpServer(t, scheme === "smtp" ? { startTls: true } : { implicitTls: true });
      const unknown = portOf(`${scheme}://emanet:gizli@127.0.0.1:${server.port}`, false);
      await assert.rejects(unknown.send(mail), transient("smtp_tls"), scheme);
      const otherName = portOf(`${scheme}://emanet:gizli@localhost:${server.port}`);
      await assert.rejects(otherName.send(mail), transient("smtp_tls"), scheme);
      assert.ok(
        server.commands.every((command) => !/^(?:AUTH|MAIL|RCPT)/.test(command)),
        server.commands.join(),
      );
    }
  });

  test("smtps: uses TLS from the first byte and verifies the certificate", async (t) => {
    const server = await smtpServer(t, { implicitTls: true });
    await portOf(`smtps://emanet:gizli@127.0.0.1:${server.port}`).send(mail);
    assert.equal(server.messages.length, 1);
    assert.deepEqual(server.plain, []);
  });

  test("?tls=off sends in clear text, also when the server offers STARTTLS", async (t) => {
    const server = await smtpServer(t, { startTls: true });
    await portOf(`smtp://127.0.0.1:${server.port}?tls=off`).send(mail);
    assert.equal(server.messages.length, 1);
    assert.ok(!server.commands.includes("STARTTLS"));
  });

  test("a signal ends a delivery that hangs, with a transient error", async (t) => {
    const server = await smtpServer(t, { silent: true });
    await assert.rejects(port(server).send(mail, AbortSignal.timeout(50)), transient("smtp_timeout"));
    await assert.rejects(port(server).send(mail, AbortSignal.abort()), transient("smtp_timeout"));
  });

  test("a server that closes the connection causes a transient error", async (t) => {
    const server = await smtpServer(t, { hangUp: true });
    await assert.rejects(port(server).send(mail), transient("smtp_connection"));
  });

  test("a sender that is not exactly one address is refused at start", () => {
    const server = parseSmtpUrl("smtp://127.0.0.1");
    for (const wrong of ["", "Emanet", "a@b.example, c@d.example", "Emanet <a@b.example>\r\nBcc: x@y.example"]) {
      assert.throws(() => createSmtpMail({ server, from: wrong, clock }), TypeError, wrong);
    }
    for (const right of ["a@b.example", "Emanet <a@b.example>", '"Emanet, Inc" <a@b.example>']) {
      createSmtpMail({ server, from: right, clock });
    }
  });
});

describe("parseSmtpUrl", () => {
  test("TLS is required everywhere, unless the URL says ?tls=off; with credentials ?tls=off is for loopback only", () => {
    for (const host of ["mail.example", "u:p@mail.example", "127.0.0.1", "u:p@[::1]", "localhost"]) {
      assert.equal(parseSmtpUrl(`smtp://${host}`).tls, "starttls", host);
      assert.equal(parseSmtpUrl(`smtps://${host}`).tls, "implicit", host);
      assert.throws(() => parseSmtpUrl(`smtps://${host}?tls=off`), TypeError, host);
    }
    for (const host of ["mail.example", "127.0.0.1", "u:p@[::1]", "u:p@localhost:2525"]) {
      assert.equal(parseSmtpUrl(`smtp://${host}?tls=off`).tls, "off", host);
    }
    for (const host of ["u:p@mail.example", "u:p@localhost.example", "u:p@10.0.0.1"]) {
      assert.throws(() => parseSmtpUrl(`smtp://${host}?tls=off`), TypeError, host);
    }
  });

  test("ports follow the scheme and credentials are decoded", () => {
    assert.equal(parseSmtpUrl("smtp://mail.example").port, 587);
    assert.equal(parseSmtpUrl("smtps://mail.example").port, 465);
    assert.equal(parseSmtpUrl("smtp://[::1]:2525").host, "::1");
    assert.deepEqual(parseSmtpUrl("smtps://a%40b.example:p%2Fw@mail.example").auth, {
      user: "a@b.example",
      pass: "p/w",
    });
  });

  test("options, paths and other schemes are refused without quoting the URL", () => {
    const refused = [
      "smtps://u:gizli@h.example/?tls.rejectUnauthorized=false",
      "smtp://u:gizli@h/x",
      "smtp://u:gizli@h.example?tls=off",
      "smtp://u:gizli@127.0.0.1?tls=off&pool=true",
      "smtp://u:gizli@127.0.0.1?tls=no",
      "smtp://u:gizli%zz@h",
      "http://gizli",
      "gizli",
    ];
    for (const url of refused) {
      assert.throws(
        () => parseSmtpUrl(url),
        (error: Error) => error instanceof TypeError && !/gizli/.test(error.message),
      );
    }
  });
});

function permanent(code: string) {
  return expected(PermanentDeliveryError, code);
}

function transient(code: string) {
  return expected(TransientDeliveryError, code);
}

/** The error has that class and code, and quotes nothing of the mail or the server. */
function expected(type: typeof PermanentDeliveryError | typeof TransientDeliveryError, code: string) {
  return (error: unknown) => {
    assert.ok(error instanceof type, String(error));
    assert.equal(error.code, code);
    assert.equal(error.message, code);
    assert.equal(error.cause, undefined);
    return true;
  };
}
