/** Reads a request into a call: cookies, media types, headers, parameters and body, each checked against the spec. */

import type { IncomingMessage } from "node:http";
import { idempotencyKeyPattern } from "../idempotency.ts";
import { Problem } from "../problems.ts";
import { bearerOf } from "./authentication.ts";
import { acceptable, type BodyTerms, hasNoBody, isJson, readJsonBody, readRawCall, refuseBody } from "./body.ts";
import { checkCondition, requireMatch } from "./conditional.ts";
import { readCookies } from "./cookies.ts";
import { type Call, type EndpointSpec, hasStream } from "./endpoint.ts";
import { pathBytesOf, wildcardOf } from "./path-bytes.ts";
import type { RangeConditions } from "./range.ts";
import { type RequestContext, single } from "./request-context.ts";
import type { RequestSignal } from "./request-signal.ts";
import { hasAnyType, openUpload, type Upload } from "./upload.ts";
import { parseHeaders, parseQuery, refuse, type Validator, validator } from "./validate.ts";

/** A request as the router passes it on. */
export interface RoutedRequest {
  readonly raw: IncomingMessage;
  /** Query string, without the question mark. */
  readonly query: string;
  readonly params: unknown;
  /** Ends when the deadline passes or the client goes away. */
  readonly end: RequestSignal;
}

export interface ParsedCall extends Call {
  readonly idempotencyKey: string | undefined;
}

export type CallParser = (context: RequestContext, request: RoutedRequest, terms: BodyTerms) => Promise<ParsedCall>;

interface PartCheck {
  readonly part: "params" | "query" | "body";
  readonly check: Validator;
}

/** Compiles the schemas of an endpoint's requests. */
export function callParser(spec: EndpointSpec): CallParser {
  const validators: PartCheck[] = [];
  if (spec.params) validators.push({ part: "params", check: validator(spec.params, "/path") });
  if (spec.query) validators.push({ part: "query", check: validator(spec.query, "/query") });
  if (spec.body) validators.push({ part: "body", check: validator(spec.body, "") });
  const headersOf = headerReader(spec);
  const specialsOf = specialReader(spec);
  const keyPattern = new RegExp(idempotencyKeyPattern);
  return async ({ principal, language, address, addressKey }, { raw, query: queryText, params, end }, terms) => {
    const ifMatch = spec.ifMatch === undefined ? undefined : single(raw.headers["if-match"]);
    checkCondition(ifMatch);
    if (spec.method === "GET") checkCondition(single(raw.headers["if-none-match"]));
    const who = { principal, language, address, addressKey, cookies: readCookies(raw.headers, spec.cookies) };
    if (spec.wire !== undefined) {
      const fits = validators.every(({ part, check }) => part !== "params" || check(params, language).length === 0);
      if (!fits) throw new Problem("not_found");
      const nothing = { ...withoutParts, params, query: undefined, body: undefined, idempotencyKey: undefined };
      return { ...who, ...nothing, raw: await readRawCall(raw, terms), requireMatch: () => undefined };
    }
    acceptable(spec, raw.headers.accept);
    const idempotencyKey = single(raw.headers["idempotency-key"]);
    if (idempotencyKey !== undefined && !keyPattern.test(idempotencyKey)) throw new Problem("invalid_header");
    if (spec.ifMatch === "required" && ifMatch === undefined) throw new Problem("precondition_required");
    const { query, bytes: queryBytes } = parseQuery(queryText, spec.query, spec.bytesParameter);
    const { upload, pathBytes, isHead, conditions } = specialsOf(raw, query, end);
    const isUpload = upload !== null;
    const isRead = !isUpload && (spec.body !== undefined || !hasNoBody(raw));
    const body = isRead ? await (spec.body ? readJsonBody(raw, terms) : refuseBody(raw, terms)) : undefined;
    const parts = { params: spec.params && params, query, body };
    const applied = isUpload ? validators.filter(({ part }) => part !== "body") : validators;
    const findings = applied.flatMap(({ part, check }) => check(parts[part], language));
    // A cursor of a wrong form gets the same answer as an unknown one.
    if (findings.some((finding) => finding.pointer === "/query/cursor")) throw new Problem("invalid_cursor");
    refuse(findings);
    // Written out, not spread: every request makes one.
    return {
      params: parts.params,
      query,
      body,
      headers: headersOf(raw, language),
      upload,
      pathBytes,
      queryBytes,
      earlier: null,
      isHead,
      conditions,
      principal,
      shareToken: shareTokenOf(spec, raw),
      language,
      address,
      addressKey,
      cookies: who.cookies,
      idempotencyKey,
      requireMatch: (representation) => requireMatch(ifMatch, representation),
    };
  };
}

/** The parts of a call that few operations have. */
interface SpecialParts {
  readonly headers: unknown;
  readonly upload: Upload | null;
  readonly pathBytes: Buffer | null;
  readonly queryBytes: Buffer | null;
  readonly earlier: unknown;
  readonly isHead: boolean;
  readonly conditions: RangeConditions;
}

const withoutParts: SpecialParts & Pick<Call, "shareToken"> = {
  ...{ shareToken: null, headers: undefined, upload: null, pathBytes: null, queryBytes: null },
  ...{ earlier: null, isHead: false, conditions: {} },
};

type SpecialReader = (
  raw: IncomingMessage,
  query: Readonly<Record<string, unknown>>,
  end: RequestSignal,
) => Pick<SpecialParts, "upload" | "pathBytes" | "isHead" | "conditions">;

function specialReader(spec: EndpointSpec): SpecialReader {
  const hasPathBytes = wildcardOf(spec.path) !== null;
  const streams = hasStream(spec);
  return (raw, query, end) => {
    const isHead = raw.method === "HEAD";
    return {
      pathBytes: hasPathBytes ? requiredPath(raw) : null,
      upload: takesUpload(spec, raw, query) ? openUpload(raw, spec.upload, query, end) : null,
      isHead,
      conditions: streams && !isHead ? conditionsOf(raw) : withoutParts.conditions,
    };
  };
}

/** A header of another scheme is the same as a wrong token. */
function shareTokenOf({ access }: EndpointSpec, { headers }: IncomingMessage): string | null {
  if (access.kind !== "share" || headers.authorization === undefined) return null;
  return bearerOf(headers.authorization) ?? "";
}

function requiredPath(raw: IncomingMessage): Buffer {
  const bytes = pathBytesOf(raw);
  if (bytes === undefined) throw new Problem("not_found");
  if (bytes === null) throw new Problem("malformed_request");
  return bytes;
}

type UploadingSpec = EndpointSpec & Required<Pick<EndpointSpec, "upload">>;

function takesUpload(
  spec: EndpointSpec,
  raw: IncomingMessage,
  query: Readonly<Record<string, unknown>>,
): spec is UploadingSpec {
  if (spec.upload === undefined) return false;
  return spec.body === undefined || hasAnyType(spec.upload, query) || !isJson(raw);
}

function conditionsOf({ headers }: IncomingMessage): RangeConditions {
  return {
    range: single(headers.range),
    ifRange: single(headers["if-range"]),
    ifNoneMatch: single(headers["if-none-match"]),
  };
}

function headerReader({
  headers: schema,
}: EndpointSpec): (raw: IncomingMessage, language: Call["language"]) => unknown {
  if (schema === undefined) return () => undefined;
  const check = validator(schema, "/header");
  return (raw, language) => {
    const headers = parseHeaders(raw.headers, schema);
    const errors = check(headers, language);
    if (errors.length > 0) throw new Problem("invalid_header", { errors });
    return headers;
  };
}
