/** The address of a store in a bucket, as one line of settings. */

import { assertObjectName, ObjectStoreError } from "@emanet/engine/object-store";

export interface S3Location {
  readonly bucket: string;
  /** "" or a folder in the bucket that ends with a slash; several stores can share a bucket. */
  readonly prefix: string;
  /** For everything that is not AWS. */
  readonly endpoint?: string | undefined;
  readonly region: string;
  /** `https://host/bucket/name` instead of `https://bucket.host/name`. */
  readonly pathStyle: boolean;
}

/** S3 allows 1024 bytes for a key and the port 256 for a name; the rest is generous for a folder. */
const maxPrefixLength = 256;

const bucketName = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const regionName = /^[a-z0-9-]{1,64}$/;
const parameters: ReadonlySet<string> = new Set(["endpoint", "region", "path_style"]);

/**
 * Reads `s3://bucket/prefix?endpoint=…&region=…&path_style=1`. Throws `bad_name` for anything else, credentials in the
 * address included: addresses get logged.
 * The region defaults to `us-east-1`; `path_style` to 1 where an endpoint is named (few other servers have a name for
 * each bucket), else to 0 (as AWS requires).
 *
 * @example parseS3Url("s3://backups/emanet?endpoint=https://s3.example.com&region=tr-1")
 */
export function parseS3Url(address: string): S3Location {
  const url = URL.canParse(address) ? new URL(address) : refuse("it is no address");
  if (url.protocol !== "s3:") refuse("it does not start with s3:");
  if (url.username !== "" || url.password !== "") refuse("credentials do not belong into it");
  if (url.port !== "" || url.hash !== "") refuse("it has a port or a fragment");
  if (!bucketName.test(url.hostname)) refuse("the bucket's name is not allowed");
  const query = readQuery(url.searchParams);
  const endpoint = query.get("endpoint");
  if (endpoint !== undefined) assertEndpoint(endpoint);
  const region = query.get("region") ?? "us-east-1";
  if (!regionName.test(region)) refuse("the region's name is not allowed");
  return {
    bucket: url.hostname,
    prefix: readPrefix(url.pathname),
    endpoint,
    region,
    pathStyle: readFlag(query.get("path_style")) ?? endpoint !== undefined,
  };
}

function readQuery(query: URLSearchParams): Map<string, string> {
  const seen = new Map<string, string>();
  for (const [name, value] of query) {
    if (!parameters.has(name)) refuse(`its parameters are ${[...parameters].join(", ")}`);
    if (seen.has(name)) refuse(`${name} is given twice`);
    seen.set(name, value);
  }
  return seen;
}

function readPrefix(pathname: string): string {
  const folder = pathname.replace(/^\//, "").replace(/\/$/, "");
  if (folder === "") return "";
  if (folder.length > maxPrefixLength) refuse(`the prefix has more than ${maxPrefixLength} characters`);
  assertObjectName(folder);
  return `${folder}/`;
}

function assertEndpoint(endpoint: string): void {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : refuse("the endpoint is no address");
  if (url.protocol !== "https:" && url.protocol !== "http:") refuse("the endpoint is neither https nor http");
  if (url.username !== "" || url.password !== "") refuse("credentials do not belong into the endpoint");
  if (url.search !== "" || url.hash !== "") refuse("the endpoint has a query or a fragment");
}

function readFlag(value: string | undefined): boolean | undefined {
  if (value === undefined) return undefined;
  return value === "1" ? true : value === "0" ? false : refuse("path_style is 0 or 1");
}

/** The address itself is not repeated: it may hold the credentials that it should not. */
function refuse(why: string): never {
  throw new ObjectStoreError("bad_name", `this s3 address cannot be used: ${why}`);
}
