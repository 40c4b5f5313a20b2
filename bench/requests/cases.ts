/** The kinds of request that are compared, and the ratios of their CPU time that must hold. */

import { randomUUID } from "node:crypto";
import type { ClientRequest } from "./clients.ts";

export interface RequestCase {
  readonly name: string;
  readonly server: "bare" | "service";
  readonly status: number;
  /** What a request of the bare server runs; those of the service are counted. */
  readonly statements: number;
  /** Makes the requests; each call of the result is one. */
  readonly request: (subject: { readonly token: string; readonly noteId: string }) => () => ClientRequest;
}

const json = { "content-type": "application/json" };
const body = JSON.stringify({ text: "a note" });

function bearer(token: string) {
  return { authorization: `Bearer ${token}` };
}

function get(path: string, headers: Readonly<Record<string, string>> = {}): () => ClientRequest {
  const request = { method: "GET", path, headers } as const;
  return () => request;
}

export const cases: readonly RequestCase[] = [
  { name: "bare, no query", server: "bare", status: 200, statements: 0, request: () => get("/nothing") },
  { name: "health", server: "service", status: 200, statements: 0, request: () => get("/health/live") },
  {
    name: "bare, one query",
    server: "bare",
    status: 200,
    statements: 1,
    request: ({ noteId }) => get(`/one/${noteId}`),
  },
  {
    name: "read of one row",
    server: "service",
    status: 200,
    statements: 0,
    request: ({ token, noteId }) => get(`/v1/test-notes/${noteId}`, bearer(token)),
  },
  {
    name: "GET /v1/account",
    server: "service",
    status: 200,
    statements: 0,
    request: ({ token }) => get("/v1/account", bearer(token)),
  },
  {
    name: "GET /v1/members",
    server: "service",
    status: 200,
    statements: 0,
    request: ({ token }) => get("/v1/members", bearer(token)),
  },
  { name: "bare, page of 25", server: "bare", status: 200, statements: 1, request: () => get("/list") },
  {
    name: "list page of 25",
    server: "service",
    status: 200,
    statements: 0,
    request: ({ token }) => get("/v1/test-notes?limit=25", bearer(token)),
  },
  {
    name: "bare, insert with commit",
    server: "bare",
    status: 201,
    statements: 1,
    request: () => () => ({ method: "POST", path: "/insert", headers: json, body }),
  },
  {
    name: "POST with key, audit, event",
    server: "service",
    status: 201,
    statements: 0,
    request:
      ({ token }) =>
      () => {
        const headers = { ...json, ...bearer(token), "idempotency-key": randomUUID() };
        return { method: "POST", path: "/v1/test-notes", headers, body };
      },
  },
];

/** The most that a request of the service may cost, beside what it must cost. */
export const targetRatios = [
  { name: "health", of: "bare, no query", most: 3 },
  { name: "read of one row", of: "bare, one query", most: 4 },
  { name: "GET /v1/account", of: "bare, one query", most: 4 },
  { name: "GET /v1/members", of: "bare, one query", most: 5 },
  { name: "list page of 25", of: "bare, page of 25", most: 5 },
  { name: "POST with key, audit, event", of: "bare, insert with commit", most: 8 },
] as const;
