/** The API's listener: certificate, transport, application. */

import type { AddressInfo } from "node:net";
import { declared } from "./declarations.ts";
import type { Foundation } from "./foundation.ts";
import { systemClock } from "./kernel/clock.ts";
import { createCursors } from "./kernel/cursors.ts";
import type { Services } from "./kernel/domain-services.ts";
import { createApp } from "./kernel/http/app.ts";
import type { HttpKernel } from "./kernel/http/kernel.ts";
import { parserProblemAnswer } from "./kernel/http/problem-answer.ts";
import { Transfers } from "./kernel/http/transfers.ts";
import { UnfinishedBodies } from "./kernel/http/unfinished-bodies.ts";
import { createIdempotency } from "./kernel/idempotency.ts";
import { StartError } from "./kernel/start-error.ts";
import { type Certificates, openLocalAuthority, openOwnCertificate } from "./kernel/transport/certificates.ts";
import { createTransport } from "./kernel/transport/server.ts";
import { createUploadIdempotency } from "./kernel/upload-idempotency.ts";
import { type Limits, openLimits } from "./limits/index.ts";

export interface Listener {
  /** The address that was bound. */
  readonly url: string;
  readonly caFile: string | null;
  reload(): Promise<void>;
}

export async function listen(foundation: Foundation, services: Services): Promise<Listener> {
  const { config, folder, log, onStop, place } = foundation;
  const limits = await openLimits({ ...foundation, savedWindowsFile: folder.path("limits.sqlite") });
  onStop(() => limits.close());
  const kernel = httpKernel(foundation, services, limits);
  const certificates = config.behindProxy ? null : await openCertificates(foundation);
  const transport = createTransport({
    mode: certificates === null ? { kind: "plain" } : { kind: "tls", certificates },
    log,
    writeParserProblem: (kind) => parserProblemAnswer(kernel, kind),
    isExempt: (address) => kernel.addresses.isProxy(address),
  });
  const app = createApp(kernel, foundation.endpoints, transport.serverFactory);
  try {
    await app.listen({ host: config.listen.host, port: config.listen.port });
  } catch (error) {
    throw bindError(error, config.listen);
  }
  onStop(async () => {
    const { cut } = await transport.drain(config.drainSeconds * 1000);
    if (cut > 0) log.warn("requests_cut", { count: cut });
    await app.close();
    certificates?.stop();
  });
  const { port } = app.server.address() as AddressInfo;
  const boundUrl = originOf(certificates === null ? "http" : "https", config.listen.host, port);
  place.boundUrl = boundUrl;
  const caFile = certificates?.caFile ?? null;
  const reload = async () => {
    const outcome = await certificates?.reload();
    if (outcome?.kind === "failed") log.error("certificate_reload_failed", { error_code: outcome.error.code });
    else log.info("certificate_reloaded");
  };
  return { url: boundUrl, caFile, reload };
}

function httpKernel(foundation: Foundation, services: Services, { limiter, bans, scanDetector }: Limits): HttpKernel {
  const { config, clock, random, log, metrics, reports, secrets, transactions, authenticator, tokens } = foundation;
  return {
    settings: config,
    declared,
    clock,
    random,
    log,
    metrics,
    reports,
    authenticator,
    tokens,
    secrets,
    services,
    transactions,
    addresses: foundation.addresses,
    limiter: foundation.limiter(limiter),
    bans,
    scanDetector,
    idempotency: createIdempotency(transactions, secrets),
    uploadIdempotency: createUploadIdempotency({ transactions, secrets, clock, random, log }),
    cursors: createCursors(secrets),
    unfinishedBodies: new UnfinishedBodies(),
    transfers: new Transfers(),
    onRefusal: (refusal) => services.audit.refusals.observe(refusal),
    publicUrl: () => foundation.place.publicUrl(),
    opened: foundation.place.opened,
  };
}

/** Uses the real time, because clients check certificates by theirs, also when a test has moved the application's clock. */
async function openCertificates({ config, random, log, folder }: Foundation): Promise<Certificates> {
  const clock = systemClock;
  if (config.tlsCert !== null && config.tlsKey !== null) {
    return openOwnCertificate({ certFile: config.tlsCert, keyFile: config.tlsKey, clock, log });
  }
  const publicName = config.publicUrl === null ? [] : [new URL(config.publicUrl).hostname];
  const names = [...new Set([...config.tlsNames, ...publicName, config.listen.host])];
  return openLocalAuthority({ folder: folder.path("tls"), names, clock, random, log });
}

/** `https://127.0.0.1:8443`, with the brackets that an IPv6 address needs. */
export function originOf(scheme: "http" | "https", host: string, port: number): string {
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function bindError(error: unknown, { host, port }: { host: string; port: number }): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE") {
    return new StartError(
      "address_in_use",
      `Something already listens on ${host}:${port}. Stop it, or set EMANET_LISTEN to another port (0 takes a free one).`,
    );
  }
  if (code === "EACCES" || code === "EADDRNOTAVAIL") {
    return new StartError(
      "address_unusable",
      `${host}:${port} cannot be listened on (${code}). Set EMANET_LISTEN to an address of this machine.`,
    );
  }
  return error;
}
