/**
 * Counts TCP connections, overall and by the network they come from, and refuses those above the limits. A refused
 * connection is closed before it costs a TLS handshake.
 *
 * IPv6 clients own at least a /64, so they are counted by it.
 */

import type { Socket } from "node:net";
import ipaddr from "ipaddr.js";

export interface ConnectionLimits {
  readonly connections: number;
  readonly connectionsPerAddress: number;
  /** True for addresses to which only the overall limit applies. */
  readonly isExempt: (address: string) => boolean;
}

export class Connections {
  readonly #open = new Set<Socket>();
  readonly #perNetwork = new Map<string, number>();
  readonly #limits: ConnectionLimits;
  refused = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Accepts the connection, or destroys it. */
  admit(socket: Socket): boolean {
    const address = socket.remoteAddress;
    // The peer has disconnected already.
    if (address === undefined || socket.destroyed) {
      socket.destroy();
      return false;
    }
    const network = this.#limits.isExempt(address) ? null : networkOf(address);
    const fromThere = network === null ? 0 : (this.#perNetwork.get(network) ?? 0);
    if (this.#open.size >= this.#limits.connections || fromThere >= this.#limits.connectionsPerAddress) {
      this.refused += 1;
      socket.destroy();
      return false;
    }
    this.#open.add(socket);
    if (network !== null) this.#perNetwork.set(network, fromThere + 1);
    socket.once("close", () => this.#forget(socket, network));
    return true;
  }

  destroyAll(): void {
    for (const socket of this.#open) socket.destroy();
  }

  #forget(socket: Socket, network: string | null): void {
    this.#open.delete(socket);
    if (network === null) return;
    const left = (this.#perNetwork.get(network) ?? 1) - 1;
    if (left === 0) this.#perNetwork.delete(network);
    else this.#perNetwork.set(network, left);
  }
}

/** The address itself for IPv4 (also when mapped into IPv6), its /64 for IPv6. */
export function networkOf(address: string): string {
  // A zone ("fe80::1%eth0") is no part of the network.
  const parsed = ipaddr.process(address.split("%")[0] ?? address);
  if (parsed.kind() === "ipv4") return parsed.toString();
  return ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`).toString();
}
