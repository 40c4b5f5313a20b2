/**
 * Which addresses of the network a webhook may lead to. Only addresses that the public Internet routes to one machine are open;
 * everything that IANA lists as special is closed, and so are addresses that stand for another one (IPv4 in IPv6, NAT64,
 * 6to4, Teredo) and the addresses at which clouds answer their machines. `EMANET_WEBHOOK_ALLOW` opens named hosts and networks.
 */

import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** IANA's registry of special IPv4 addresses, multicast, class E, and the address of Azure's host agent. */
const closedIpv4 = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"],
  ...["192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16"],
  ...["192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
  "168.63.129.16/32",
].map((text) => ipaddr.IPv4.parseCIDR(text));

/** What IANA has given out for the public. All else is special, reserved or stands for another address. */
const openIpv6 = ipaddr.IPv6.parseCIDR("2000::/3");

/** Within it: protocol assignments and Teredo, documentation, 6to4, AS112, documentation again. */
const closedIpv6 = ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20", "2001:4:112::/48"].map(
  (text) => ipaddr.IPv6.parseCIDR(text),
);

/** Whether the public Internet routes this address. Anything that is no plain address is closed. */
export function isPublicAddress(text: string): boolean {
  if (isIP(text) === 0) return false;
  const address = ipaddr.parse(text);
  if (address instanceof ipaddr.IPv4) return !closedIpv4.some((range) => address.match(range));
  return address.match(openIpv6) && !closedIpv6.some((range) => address.match(range));
}

/** What the operator has opened. */
export interface AllowList {
  hasHost(host: string): boolean;
  hasAddress(address: string): boolean;
}

/** Host names and CIDRs, as the setting has them. */
export function allowListOf(entries: readonly string[]): AllowList {
  const ranges = entries.filter((entry) => ipaddr.isValidCIDR(entry)).map((entry) => ipaddr.parseCIDR(entry));
  const hosts = new Set(entries.filter((entry) => !ipaddr.isValidCIDR(entry)).map((entry) => entry.toLowerCase()));
  return {
    hasHost: (host) => hosts.has(host.toLowerCase()),
    hasAddress: (text) => {
      if (isIP(text) === 0) return false;
      const address = ipaddr.parse(text);
      return ranges.some(([range, bits]) => range.kind() === address.kind() && address.match(range, bits));
    },
  };
}
