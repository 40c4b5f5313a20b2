/**
 * Mail by SMTP: one connection per mail.
 *
 * Invariants
 * - Mails carry links that open accounts, so they do not cross a network in clear text: TLS with a verified certificate
 *   is required, unless the URL says `?tls=off`. Even then credentials stay on this machine (loopback).
 * - Recipient and subject cannot add a header or another recipient: they are checked here, whatever the caller did.
 * - Nothing of a mail can make the mailer read a file or fetch a URL.
 * - A delivery ends within {@link sendTimeoutMs}, because its socket is ours and is destroyed then.
 *
 * Which failures are permanent: the server refused this recipient or this content with a 5xx answer. A 5xx answer to
 * the sign-in or to the sender means that the settings are wrong: it stops all mail until somebody corrects them, so
 * the mails must wait, not be lost.
 */

import { connect as openSocket, type Socket } from "node:net";
import ipaddr from "ipaddr.js";
import { createTransport } from "nodemailer";
import type { Clock } from "../kernel/clock.ts";
import { type MailPort, type OutgoingMail, PermanentDeliveryError, TransientDeliveryError } from "./ports.ts";

/** A mail server, as its URL names it. */
export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** `starttls`: refuses to go on without it. `off`: never begins TLS, because the URL says so. */
  readonly tls: "implicit" | "starttls" | "off";
  /** Authority to trust in place of those that Node trusts (`NODE_EXTRA_CA_CERTS` adds to them). */
  readonly ca?: string;
  readonly auth: { readonly user: string; readonly pass: string } | undefined;
}

export interface SmtpOptions {
  readonly server: SmtpServer;
  /** `Name <address>` or an address. */
  readonly from: string;
  readonly clock: Clock;
}

/** @throws TypeError when the sender is not an address. */
export function createSmtpMail(options: SmtpOptions): MailPort {
  const { server, clock } = options;
  const from = parseSender(options.from);

  return {
    async send(mail, signal) {
      const to = checkedRecipient(mail.to);
      const deadline = AbortSignal.any([AbortSignal.timeout(sendTimeoutMs), ...(signal === undefined ? [] : [signal])]);
      let socket: Socket | undefined;
      const transport = createTransport({
        ...transportOptions(server),
        getSocket: (_options, callback) => {
          connected(server, deadline).then(
            (connection) => {
              socket = connection;
              callback(null, { connection });
            },
            (error: Error) => callback(error, false),
          );
        },
      });
      try {
        await transport.sendMail(messageOf(mail, { from, to, date: clock.now() }));
      } catch (error) {
        throw deliveryError(error, deadline);
      } finally {
        transport.close();
        socket?.destroy();
      }
    },
  };
}

/**
 * Reads `smtp://user:password@host:port` (STARTTLS), `smtps://…` (TLS from the first byte) or `smtp://…?tls=off` (clear
 * text). Anything more in the URL is refused rather than ignored.
 * @throws TypeError with a message that quotes nothing of it.
 */
export function parseSmtpUrl(text: string): SmtpServer {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["smtp:", "smtps:"].includes(url.protocol) || url.hostname === "") {
    throw new TypeError("the mail server must be smtp://host or smtps://host");
  }
  if ((url.pathname !== "" && url.pathname !== "/") || !["", "?tls=off"].includes(url.search) || url.hash !== "") {
    throw new TypeError("the mail server's URL must not have a path or options other than ?tls=off");
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const isImplicit = url.protocol === "smtps:";
  const isOff = url.search !== "";
  if (isImplicit && isOff) throw new TypeError("the mail server's URL says smtps and ?tls=off: only one can be meant");
  const user = decoded(url.username);
  const auth = user === "" ? undefined : { user, pass: decoded(url.password) };
  if (isOff && auth !== undefined && !isLoopback(host)) {
    throw new TypeError("the mail server's password must not leave this machine in clear text: remove ?tls=off");
  }
  const port = url.port === "" ? (isImplicit ? implicitTlsPort : submissionPort) : Number(url.port);
  return { host, port, tls: isImplicit ? "implicit" : isOff ? "off" : "starttls", auth };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new TypeError("the mail server's user and password must be percent-encoded");
  }
}

/** RFC 8314 and RFC 6409. */
const implicitTlsPort = 465;
const submissionPort = 587;

/** Longer than a greylisting server's pauses; shorter than a job's attempt (60 s). */
const sendTimeoutMs = 45_000;

/** A server that is up answers a connection within this; the next attempt tries again. */
const connectTimeoutMs = 15_000;

/** Between two answers of the server. */
const idleTimeoutMs = 30_000;

/** Answers are a few lines. */
const responseBytesMax = 64 * 1024;

function transportOptions(server: SmtpServer) {
  return {
    host: server.host,
    port: server.port,
    secure: server.tls === "implicit",
    requireTLS: server.tls === "starttls",
    ignoreTLS: server.tls === "off",
    auth: server.auth,
    connectionTimeout: connectTimeoutMs,
    greetingTimeout: idleTimeoutMs,
    socketTimeout: idleTimeoutMs,
    maxResponseSize: responseBytesMax,
    tls: {
      minVersion: "TLSv1.2" as const,
      rejectUnauthorized: true,
      ...(server.ca !== undefined && { ca: server.ca }),
    },
    disableFileAccess: true,
    disableUrlAccess: true,
    logger: false,
  };
}

/** Opens the connection ourselves, so that the deadline can end it in every phase. */
async function connected(server: SmtpServer, deadline: AbortSignal): Promise<Socket> {
  const opened = Promise.withResolvers<Socket>();
  const socket = openSocket({ host: server.host, port: server.port });
  const stop = () => socket.destroy(new Error("deadline"));
  deadline.addEventListener("abort", stop, { once: true });
  socket.once("close", () => deadline.removeEventListener("abort", stop));
  socket.setTimeout(connectTimeoutMs, stop);
  socket.once("error", opened.reject);
  socket.once("connect", () => {
    socket.setTimeout(0);
    opened.resolve(socket);
  });
  if (deadline.aborted) stop();
  return await opened.promise;
}

interface Envelope {
  readonly from: Sender;
  readonly to: string;
  readonly date: Date;
}

function messageOf(mail: OutgoingMail, { from, to, date }: Envelope) {
  if (/\p{Cc}/u.test(mail.subject)) throw new PermanentDeliveryError("invalid_subject");
  if (!/^[\w-]{1,64}$/.test(mail.id)) throw new PermanentDeliveryError("invalid_id");
  return {
    from: { name: from.name, address: from.address },
    to: { name: "", address: to },
    subject: mail.subject,
    text: mail.text,
    ...(mail.html !== undefined && { html: mail.html }),
    date,
    messageId: `<${mail.id}@${from.address.slice(from.address.lastIndexOf("@") + 1)}>`,
    xMailer: false as const,
    // RFC 3834: no out-of-office answers to the sender, which nobody reads.
    headers: { "Auto-Submitted": "auto-generated" },
  };
}

interface Sender {
  readonly name: string;
  readonly address: string;
}

function parseSender(text: string): Sender {
  const match = /^(?:"?([^"<>\p{Cc}]{0,100}?)"?\s*<([^<>\s]+)>|([^<>\s]+))$/u.exec(text.trim());
  const address = match?.[2] ?? match?.[3];
  if (address === undefined || !isAddress(address)) throw new TypeError("the sender must be an address: Name <a@b.c>");
  return { name: match?.[1] ?? "", address };
}

function checkedRecipient(to: string): string {
  if (!isAddress(to)) throw new PermanentDeliveryError("invalid_recipient");
  return to;
}

/** RFC 5321: 254 octets. */
const addressBytesMax = 254;

/** One plain address: nothing that is a separator, a quote, a comment or a control character in a header. */
function isAddress(text: string): boolean {
  const plain = /^[^\s\p{C}<>()[\]\\,;:"@]{1,64}@[\p{L}\p{N}](?:[\p{L}\p{N}.-]*[\p{L}\p{N}])?$/u.test(text);
  return plain && !text.includes("..") && Buffer.byteLength(text) <= addressBytesMax;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || (ipaddr.isValid(host) && ipaddr.process(host).range() === "loopback");
}

/** What nodemailer puts on its errors; the rest of them quotes the recipient and the server. */
interface SmtpFailure {
  readonly code?: unknown;
  /** Node's code, where nodemailer set its own. */
  readonly originalCode?: unknown;
  readonly command?: unknown;
  readonly responseCode?: unknown;
}

function deliveryError(error: unknown, deadline: AbortSignal): Error {
  if (error instanceof PermanentDeliveryError) return error;
  if (deadline.aborted) return new TransientDeliveryError("smtp_timeout");
  const { code, originalCode, command, responseCode } = error as SmtpFailure;
  // OpenSSL's verdicts (`CERT_HAS_EXPIRED`, `ERR_SSL_…`) reach a socket as its error, and do not look like an errno.
  const verdict = code === "ESOCKET" && typeof originalCode === "string" && !/^E[A-Z0-9]+$/.test(originalCode);
  if (code === "ETLS" || verdict) return new TransientDeliveryError("smtp_tls");
  const status =
    typeof responseCode === "number" && responseCode >= 400 && responseCode < 600 ? responseCode : undefined;
  if (status === undefined) return new TransientDeliveryError(connectionFailures.get(code) ?? "smtp_connection");
  const aboutThisMail = command === "RCPT TO" || command === "DATA" || code === "EMESSAGE";
  // 503 says that the session went wrong, not the mail.
  const refused = status >= 500 && status !== 503;
  return refused && aboutThisMail
    ? new PermanentDeliveryError(`smtp_${status}`)
    : new TransientDeliveryError(`smtp_${status}`);
}

const connectionFailures: ReadonlyMap<unknown, string> = new Map([
  ["EDNS", "smtp_dns"],
  ["ETIMEDOUT", "smtp_timeout"],
  ["EAUTH", "smtp_auth"],
  ["ENOAUTH", "smtp_auth"],
]);
