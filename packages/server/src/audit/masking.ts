/**
 * What a share does not show. A *masked* record keeps its number, id, time, action, outcome and hashes. People and sessions become names
 * that are the same in all records of one share and mean nothing outside it, so that an auditor sees what one person did without
 * learning who it is. Texts that people wrote, such as reasons and paths, become `masked`.
 *
 * The hash of a masked record covers what is not shown. It tells nothing about it: each masked record of a request also hides the id of
 * the request, which cannot be guessed.
 */

import type { Secrets } from "../kernel/secrets.ts";
import type { ShareRow } from "./share-store.ts";

/** What stands for a text that is not shown. */
export const maskedText = "masked";

/** The parts of a record that can have something to hide. */
export interface MaskableParts {
  readonly actor: { readonly kind: string; readonly id?: string };
  readonly targets: readonly { readonly type: string; readonly id: string }[];
  readonly context: Readonly<Record<string, string>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly person: string | null;
}

export interface MaskedParts extends MaskableParts {
  readonly isMasked: boolean;
}

const personActors: ReadonlySet<string> = new Set(["member", "staff"]);
const personTargets: ReadonlySet<string> = new Set(["person", "member", "staff", "session"]);

/** Facts whose texts are words of the service. Those of all other facts could be what a person wrote. */
const codeFacts: ReadonlySet<string> = new Set([
  ...["at", "by", "cause", "events", "failure", "fields", "finding", "format", "from", "to", "kind", "method"],
  ...["outcome", "package", "policy", "purpose", "role", "state", "trigger", "wrong", "count", "code", "scopes"],
]);

/** Of the request: what leads to a person. The network of an address is that of a person, too. */
const hiddenOfRequest: readonly string[] = ["request_id", "session_id", "address"];

/** 64 bits: two people of an account never get the same name. */
const nameLength = 16;

export type Mask = (parts: MaskableParts) => MaskedParts;

export function maskOf(secrets: Secrets, share: Pick<ShareRow, "id" | "shows_persons" | "shows_paths">): Mask {
  const { shows_persons: showsPersons, shows_paths: showsPaths } = share;
  const known = new Map<string, string>();
  const nameFor = (id: string) => {
    let name = known.get(id);
    if (name === undefined) {
      name = `masked-${secrets.digest("audit-share", `person ${share.id} ${id}`).toString("hex").slice(0, nameLength)}`;
      if (known.size < maxKnownNames) known.set(id, name);
    }
    return name;
  };
  return (parts) => {
    const metadata = showsPersons && showsPaths ? parts.metadata : maskedFacts(parts.metadata);
    if (showsPersons) return { ...parts, metadata, isMasked: metadata !== parts.metadata };
    const actor = maskedActor(parts.actor, nameFor);
    const targets = maskedTargets(parts.targets, nameFor);
    const context = maskedContext(parts.context, nameFor);
    const isMasked =
      actor !== parts.actor || targets !== parts.targets || context !== parts.context || metadata !== parts.metadata;
    return { actor, targets, context, metadata, person: null, isMasked };
  };
}

/** Names that are computed once. An export of a large chain has few people. */
const maxKnownNames = 10_000;

function maskedActor(actor: MaskableParts["actor"], nameFor: (id: string) => string): MaskableParts["actor"] {
  return personActors.has(actor.kind) && actor.id !== undefined ? { ...actor, id: nameFor(actor.id) } : actor;
}

function maskedTargets(targets: MaskableParts["targets"], nameFor: (id: string) => string): MaskableParts["targets"] {
  if (!targets.some(({ type }) => personTargets.has(type))) return targets;
  return targets.map((target) => (personTargets.has(target.type) ? { ...target, id: nameFor(target.id) } : target));
}

function maskedContext(context: MaskableParts["context"], nameFor: (id: string) => string): MaskableParts["context"] {
  const hides = (name: string) => name === "member_id" || hiddenOfRequest.includes(name);
  const names = Object.keys(context);
  if (!names.some(hides)) return context;
  const shown = names.filter((name) => !hiddenOfRequest.includes(name));
  return Object.fromEntries(
    shown.map((name) => [name, name === "member_id" ? nameFor(context[name] ?? "") : (context[name] ?? "")]),
  );
}

function maskedFacts(metadata: MaskableParts["metadata"]): MaskableParts["metadata"] {
  const isShown = ([name, value]: [string, unknown]) =>
    codeFacts.has(name) || value === null || typeof value === "number" || typeof value === "boolean";
  const facts = Object.entries(metadata);
  if (facts.every(isShown)) return metadata;
  return Object.fromEntries(facts.map((fact) => (isShown(fact) ? fact : [fact[0], maskedText])));
}
