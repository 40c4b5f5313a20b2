/** `POST /v1/me/password`: changes the password; needs the old one. */

import { findPerson, mailAboutChange } from "../../../accounts/index.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { closed } from "../../../kernel/http/schema.ts";
import { actorOf } from "../../../kernel/principal.ts";
import { Problem } from "../../../kernel/problems.ts";
import { endLinks } from "../../enrolment/index.ts";
import {
  countAttempt,
  dummyHash,
  findCredentials,
  hashPassword,
  passwordSchema,
  requireGoodPassword,
  sessionAttemptsId,
  setPasswordHash,
  verifyPassword,
} from "../../factors/index.ts";
import { endAccessOf, personOf } from "../../sessions/index.ts";

export const changePassword = endpoint(
  {
    id: "me.change_password",
    method: "POST",
    path: "/v1/me/password",
    tag: "me",
    summary: "Change your password",
    description:
      "Needs the current password and a fresh second factor. Ends all your other sessions. Attempts count per session, together with step-ups. A new password has at least 12 characters and is not a common password.",
    access: { kind: "person", scope: "account:write" },
    stepUp: true,
    idempotency: "none",
    body: closed({ current_password: passwordSchema, new_password: passwordSchema }, { title: "PasswordChange" }),
    replies: { 204: { description: "Changed.", empty: true } },
    errors: ["invalid_credentials", "too_many_attempts"],
  },
  async (ctx, { principal, body, language }) => {
    const { personId, accountId, scope } = personOf(principal);
    const person = await ctx.tx(scope, (tx) => findPerson(tx, accountId, personId));
    if (person === undefined) throw new Problem("invalid_credentials");
    requireGoodPassword(body.new_password, person.email, "/new_password", language);
    const credentials = await ctx.tx(scope, async (tx) => {
      // Not given back when it is right: a password alone resets no counter.
      await countAttempt(tx, sessionAttemptsId(ctx.secrets, principal.sessionId), ctx.settings.limitLockout);
      return findCredentials(tx, personId);
    });
    const { matches } = await verifyPassword(credentials?.password_hash ?? dummyHash, body.current_password);
    if (!matches) {
      const targets = [{ type: "person", id: personId }];
      await ctx.tx(scope, async (tx) =>
        tx.audit({ action: "person.password_change_failed", targets, outcome: "failure" }),
      );
      throw new Problem("invalid_credentials");
    }
    const hash = await hashPassword(body.new_password, ctx.random);
    await ctx.tx(scope, async (tx) => {
      await setPasswordHash(tx, personId, hash, true);
      await endLinks(tx, personId, "password_reset");
      await endAccessOf(tx, ctx, person, "password_changed", principal.sessionId);
      tx.audit({ action: "person.password_changed", targets: [{ type: "person", id: personId }] });
      const change = { accountId, of: { person: personId }, by: actorOf(principal) };
      await mailAboutChange(tx, ctx, { what: "password_changed", ...change });
    });
    return { status: 204 };
  },
);
