/**
 * Mail by SMTP: one connection per mail.
 *
 * Invariants
 * - Mails contain links that open accounts, so TLS with a verified certificate is required, unless the URL says
 *   `?tls=off`. With `?tls=off` credentials are sent only to loopback.
 * - Recipient and subject cannot add a header or another recipient: this file checks them itself.
 * - The content of a mail cannot make the mailer read a file or fetch a URL.
 * - A delivery ends within {@link sendTimeoutMs}: this file opens the socket and destroys it at the deadline.
 *
 * A failure is permanent when the server refuses this recipient or this content with a 5xx answer. A 5xx answer to the
 * authentication or to the sender means wrong settings. It concerns all mails, so they wait until the settings are
 * corrected.
 */

import { connect as openSocket, type Socket } from "node:net";
import ipaddr from "ipaddr.js";
import { createTransport } from "nodemailer";
import type { Clock } from "../kernel/clock.ts";
import { type MailPort, type OutgoingMail, PermanentDeliveryError, TransientDeliveryError } from "./ports.ts";

/** A mail server, parsed from its URL. */
export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** `starttls`: TLS is required. `off`: never use TLS, because the URL says so. */
  readonly tls: "implicit" | "starttls" | "off";
  /** Replaces the authorities that Node trusts (`NODE_EXTRA_CA_CERTS` adds to them). */
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
 * text). Other parts in the URL are refused.
 * @throws TypeError; its message quotes no part of the URL.
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
  if (isImplicit && isOff) throw new TypeError("the mail server's URL says smtps and ?tls=off: use only one of them");
  const user = decoded(url.username);
  const auth = user === "" ? undefined : { user, pass: decoded(url.password) };
  if (isOff && auth !== undefined && !isLoopback(host)) {
    throw new TypeError("the mail server's password can be sent in clear text to loopback only: remove ?tls=off");
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

/** A running server accepts a connection within this time; otherwise the job retries later. */
const connectTimeoutMs = 15_000;

/** The longest time between two answers of the server. */
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

/** Opens the connection here, so that the deadline can end it in every phase. */
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
    // RFC 3834: prevents out-of-office answers to the sender address, which is not read.
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

/** One plain address, without separators, quotes, comments or control characters of mail headers. */
function isAddress(text: string): boolean {
  const plain = /^[^\s\p{C}<>()[\]\\,;:"@]{1,64}@[\p{L}\p{N}](?:[\p{L}\p{N}.-]*[\p{L}\p{N}])?$/u.test(text);
  return plain && !text.includes("..") && Buffer.byteLength(text) <= addressBytesMax;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || (ipaddr.isValid(host) && ipaddr.process(host).range() === "loopback");
}

/** The fields of nodemailer's errors that we use; the others quote the recipient and the server. */
interface SmtpFailure {
  readonly code?: unknown;
  /** Node's error code, when nodemailer replaced `code`. */
  readonly originalCode?: unknown;
  readonly command?: unknown;
  readonly responseCode?: unknown;
}

function deliveryError(error: unknown, deadline: AbortSignal): Error {
  if (error instanceof PermanentDeliveryError) return error;
  if (deadline.aborted) return new TransientDeliveryError("smtp_timeout");
  const { code, originalCode, command, responseCode } = error as SmtpFailure;
  // Certificate errors of OpenSSL (`CERT_HAS_EXPIRED`, `ERR_SSL_…`) are errors of the socket, but not an errno.
  const isTlsError = code === "ESOCKET" && typeof originalCode === "string" && !/^E[A-Z0-9]+$/.test(originalCode);
  if (code === "ETLS" || isTlsError) return new TransientDeliveryError("smtp_tls");
  const status =
    typeof responseCode === "number" && responseCode >= 400 && responseCode < 600 ? responseCode : undefined;
  if (status === undefined) return new TransientDeliveryError(connectionFailures.get(code) ?? "smtp_connection");
  const aboutThisMail = command === "RCPT TO" || command === "DATA" || code === "EMESSAGE";
  // 503 means a wrong sequence of commands, not a wrong mail.
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
