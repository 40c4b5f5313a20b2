/**
 * Mails about changes of access to an account. The people concerned and every owner get one mail each, in their language,
 * queued in the transaction of the change. Every operation that changes an authenticator, recovery codes, a phone, a
 * password, a member, a role, a client or its secret calls this file; `tests/access/mails-about-access-changes.test.ts`
 * checks this for all operations of the document.
 */

import type { Ctx } from "../kernel/http/endpoint.ts";
import type { Actor } from "../kernel/principal.ts";
import type { Tx } from "../kernel/tx.ts";
import { type ChangeValues, mailMessage, type SecurityChange, sendMessage } from "../messages/index.ts";
import type { ClientRow } from "./client-store.ts";
import { listOwnersAnd, type PersonRow } from "./person-store.ts";

export interface Change {
  readonly what: SecurityChange;
  /** Null for staff, who have no owners. */
  readonly accountId: string | null;
  /** The people concerned; for a client the responsible member and the member who changes it. */
  readonly of: { readonly person: string } | { readonly client: Pick<ClientRow, "name" | "responsible_id"> };
  readonly by: Actor;
  /** A role, or a time. */
  readonly detail?: string;
  /** The person gets another mail with a link in the same transaction. */
  readonly personHasMail?: true;
}

/** Queues the mails; with row access to the account. Call it before a removal, because removed people get no mail. */
export async function mailAboutChange(tx: Tx, { random }: Pick<Ctx, "random">, change: Change): Promise<void> {
  const by = "id" in change.by ? change.by.id : null;
  const concerned = concernedBy(change, by);
  const people = await listOwnersAnd(tx, change.accountId, [...concerned, ...(by === null ? [] : [by])]);
  const name = "client" in change.of ? change.of.client.name : nameOf(people, change.of.person);
  for (const person of people) {
    const isConcerned = concerned.includes(person.id);
    const isOwner = person.role === "owner" && person.state === "active";
    if (!isConcerned && !isOwner) continue;
    // An invited person gets no mail: each change would be one more mail to a stranger.
    if (person.state === "invited" && change.what === "role_changed") continue;
    if (isConcerned && change.personHasMail === true) continue;
    const reader = isConcerned ? "you" : "owner";
    const doer = doing(change.by, person, people);
    const values = { reader, name, ...doer, detail: change.detail ?? "", at: tx.now.toISOString() } as const;
    const { email: to, language } = person;
    const payload = mailMessage({ id: random.uuid(), to, language, template: change.what, values });
    await tx.job({ task: sendMessage, payload });
  }
}

function concernedBy({ of }: Change, by: string | null): string[] {
  return "person" in of ? [of.person] : [of.client.responsible_id, by].filter((id) => id !== null);
}

function nameOf(people: readonly PersonRow[], id: string): string {
  return people.find((person) => person.id === id)?.full_name ?? "";
}

function doing(actor: Actor, reader: PersonRow, people: readonly PersonRow[]): Pick<ChangeValues, "by" | "by_name"> {
  const doer = people.find(({ id }) => "id" in actor && id === actor.id);
  const isProgram = actor.kind === "client" || actor.kind === "agent";
  if (doer === undefined) return { by: isProgram ? "program" : "support", by_name: "" };
  if (doer.id === reader.id) return { by: "you", by_name: "" };
  // A person who has not enrolled may not know us, so the mail contains no text or name of a customer.
  return reader.state === "invited" ? { by: "unnamed", by_name: "" } : { by: "named", by_name: doer.full_name };
}
