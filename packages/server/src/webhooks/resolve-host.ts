/**
 * From the host of a webhook to the address that is connected to. Every address of the answer is checked, and the one that
 * was checked is the one that is used: nobody asks DNS a second time. Uses c-ares, not the resolver of the system, which
 * would keep a thread that files and keys need while a slow server of names does not answer.
 */

import { lookup, Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { type AllowList, isPublicAddress } from "./public-address.ts";

/** Twice, for a lost packet. */
const queryTimeoutMs = 2_000;
const queryTries = 2;

/** Why a host cannot be connected to. */
export class HostError extends Error {
  readonly reason: "blocked" | "dns";

  constructor(reason: "blocked" | "dns", options?: ErrorOptions) {
    super(reason, options);
    this.reason = reason;
  }
}

/** Asks DNS: all addresses of a name. Tests replace it. */
export type AskNames = (host: string) => Promise<readonly string[]>;

/** With servers (`127.0.0.1:5353`) these are asked, in place of the system's. */
export function askDns(servers?: readonly string[]): AskNames {
  return async (host) => {
    const resolver = new Resolver({ timeout: queryTimeoutMs, tries: queryTries });
    if (servers !== undefined) resolver.setServers(servers);
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    const failed = answers.find((answer) => answer.status === "rejected");
    if (addresses.length === 0) throw new HostError("dns", { cause: failed?.reason });
    return addresses;
  };
}

export interface HostResolver {
  /** The addresses of a host, IPv4 first. Throws a {@link HostError} if one of them is not public and not allowed. */
  resolve(host: string): Promise<readonly string[]>;
}

export function hostResolver(allowed: AllowList, ask: AskNames): HostResolver {
  const isOpen = (address: string) => isPublicAddress(address) || allowed.hasAddress(address);
  return {
    async resolve(host) {
      const isNamed = allowed.hasHost(host);
      if (isIP(host) !== 0) return isNamed || isOpen(host) ? [host] : blocked();
      const addresses = await ask(host).catch((error: unknown) => {
        // Machines of the operator's own network can be in the hosts file alone.
        if (isNamed) return systemLookup(host);
        throw error;
      });
      return isNamed || addresses.every(isOpen) ? addresses : blocked();
    },
  };
}

async function systemLookup(host: string): Promise<readonly string[]> {
  try {
    return (await lookup(host, { all: true, order: "ipv4first" })).map(({ address }) => address);
  } catch (error) {
    throw new HostError("dns", { cause: error });
  }
}

function blocked(): never {
  throw new HostError("blocked");
}
