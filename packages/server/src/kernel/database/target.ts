/**
 * Where a database is. Either the embedded server's private socket, named part by part, or an operator's
 * `EMANET_DATABASE_URL`, kept as it was given because it may carry TLS settings.
 */

export interface SocketTarget {
  readonly kind: "socket";
  /** The folder of the unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
}

export interface UrlTarget {
  readonly kind: "url";
  readonly url: string;
}

export type DatabaseTarget = SocketTarget | UrlTarget;
