/**
 * Which address a request comes from. Forwarded headers are used only when the socket's peer is a configured
 * proxy, and then only as far as proxies wrote them: the client is the right-most hop that is not itself trusted.
 */

import ipaddr from "ipaddr.js";

/** Proxies in front of each other; a longer header is an attack and only its right end is read. */
const maxForwardedHops = 32;

type Cidr = [ipaddr.IPv4 | ipaddr.IPv6, number];

export interface ClientAddresses {
  /** The client's address in canonical form. */
  of(peer: string | undefined, forwardedFor: string | undefined): string;
  /** Whether a peer is a configured proxy. */
  isProxy(peer: string): boolean;
  /** Whether what limits count an address by ({@link addressKey}) has a configured proxy in it. */
  coversProxy(key: string): boolean;
}

export function clientAddresses(trustedProxies: readonly string[]): ClientAddresses {
  const trusted = trustedProxies.map((cidr) => ipaddr.parseCIDR(cidr));
  return {
    isProxy: (peer) => isTrusted(canonical(peer) ?? "0.0.0.0", trusted),
    coversProxy: (key) => {
      if (trusted.length === 0) return false;
      const [network, bits] = ipaddr.parseCIDR(key.includes("/") ? key : `${key}/32`);
      return trusted.some(
        ([proxy, length]) => proxy.kind() === network.kind() && proxy.match([network, Math.min(bits, length)] as Cidr),
      );
    },
    of(peer, forwardedFor) {
      let client = canonical(peer ?? "") ?? "0.0.0.0";
      if (forwardedFor === undefined || trusted.length === 0 || !isTrusted(client, trusted)) return client;
      const hops = forwardedFor.split(",").slice(-maxForwardedHops).reverse();
      for (const hop of hops) {
        const address = canonical(hop.trim());
        // What is no address was not written by a trusted proxy, so the hop before it counts as the client.
        if (address === null) return client;
        client = address;
        if (!isTrusted(client, trusted)) return client;
      }
      return client;
    },
  };
}

/**
 * What limits and bans count by: an IPv4 address, or the /64 of an IPv6 one, which is what a single customer line
 * gets and can rotate through at will.
 */
export function addressKey(address: string): string {
  const known = addressKeys.get(address);
  if (known !== undefined) return known;
  if (addressKeys.size >= maxKnownAddresses) addressKeys.clear();
  const key = makeAddressKey(address);
  addressKeys.set(address, key);
  return key;
}

/** Keys of addresses that were asked for lately: a client sends many requests from one address. */
const addressKeys = new Map<string, string>();

/** About 200 kB. */
const maxKnownAddresses = 1_000;

function makeAddressKey(address: string): string {
  const parsed = ipaddr.parse(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`);
  return `${network.toString()}/64`;
}

/** What {@link parseAddress} made of texts that were asked for lately. */
const canonicalAddresses = new Map<string, string | null>();

function canonical(text: string): string | null {
  const known = canonicalAddresses.get(text);
  if (known !== undefined) return known;
  if (canonicalAddresses.size >= maxKnownAddresses) canonicalAddresses.clear();
  const address = parseAddress(text);
  // Longer texts are no addresses, and would fill the memory.
  if (text.length <= maxAddressLength) canonicalAddresses.set(text, address);
  return address;
}

/** An IPv6 address with brackets, zone and port. */
const maxAddressLength = 64;

/** IPv4 in IPv6 clothing (::ffff:…) becomes plain IPv4; brackets, zones and ports of some proxies are taken off. */
function parseAddress(text: string): string | null {
  const bare = /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text;
  const address = bare.split("%")[0] ?? "";
  return ipaddr.isValid(address) ? ipaddr.process(address).toString() : null;
}

function isTrusted(address: string, trusted: readonly Cidr[]): boolean {
  const parsed = ipaddr.parse(address);
  return trusted.some((cidr) => parsed.kind() === cidr[0].kind() && parsed.match(cidr));
}
