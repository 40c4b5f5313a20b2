/**
 * Who looks around. A *target* is what a request asked for: its path when the answer was a refusal, else its operation,
 * which counts once however many resources were read through it. A subject that meets too many different targets within
 * a minute is reported, once. A *subject* is the credential of the request, or the address when it had none: nobody is
 * counted for what others send.
 */

import { createHash } from "node:crypto";
import type { Clock } from "../clock.ts";
import { type RedisConnection, redisScript } from "./redis-connection.ts";
import { targetScript } from "./redis-script.ts";
import { StoreDown } from "./store.ts";

export type WatchedSubject =
  /** An OAuth client, or a session of a person; `accountId` is null for staff. */
  | { readonly kind: "client" | "session"; readonly id: string; readonly accountId: string | null }
  | { readonly kind: "address"; readonly id: string };

/** The contract's pattern: this many different targets in this time. */
export const suspiciousTargets = 1000;
/** … within this time. */
export const suspiciousWindowMs = 60_000;

/** Targets remembered in all, for every subject together: some 40 MB when full. Least recently seen subjects go first. */
export const maxRememberedTargets = 500_000;

/** What a subject weighs beside its targets, in targets: a map of its own. */
const subjectWeight = 9;

/** Subjects forgotten at a time: finding the oldest of a large map is slow, so it is not done for every new one. */
const forgottenAtOnce = 1_000;

/** A target that the shared store was told of so recently is not told again. */
const retellMs = 5_000;

/** 64 bits: among a thousand targets of one subject two never meet. */
const hashLength = 11;

export interface TargetWatch {
  saw(subject: WatchedSubject, target: string): void;
}

export interface TargetWatchOptions {
  readonly clock: Clock;
  /** With one, all processes count together. */
  readonly redis?: RedisConnection;
  /** What a subject is called in the shared store: an address is personal. */
  readonly nameOf: (id: string) => string;
  /** In place of {@link suspiciousTargets}. */
  readonly most?: number;
  readonly onSuspicious: (subject: WatchedSubject) => void;
  readonly onError: (error: unknown) => void;
}

export function createTargetWatch(options: TargetWatchOptions): TargetWatch {
  const { clock, redis, nameOf, most = suspiciousTargets, onSuspicious, onError } = options;
  /** Subjects in order of last use; of each its targets in order of last sight, and when that was. */
  const subjects = new Map<string, Map<string, number>>();
  let remembered = 0;
  const script = redisScript(targetScript);
  const forget = (id: string) => {
    remembered -= (subjects.get(id)?.size ?? 0) + subjectWeight;
    subjects.delete(id);
  };
  const tell = async (connection: RedisConnection, subject: WatchedSubject, id: string, hash: string) => {
    const values = [String(clock.offsetMs?.() ?? 0), hash, String(suspiciousWindowMs), String(most)];
    try {
      const found = await connection.run(script, [`emanet:targets:${nameOf(id)}`], values);
      if (Number(found) === 1) onSuspicious(subject);
    } catch (error) {
      // While the store is away each process counts for itself.
      if (!(error instanceof StoreDown)) onError(error);
    }
  };
  return {
    saw(subject, target) {
      const now = clock.now().getTime();
      const id = `${subject.kind} ${subject.id}`;
      const hash = hashOf(target);
      const targets = subjects.get(id) ?? new Map<string, number>();
      const before = targets.get(hash);
      if (redis && before !== undefined && before > now - retellMs) return;
      if (targets.delete(hash)) remembered--;
      targets.set(hash, now);
      remembered++;
      if (!subjects.delete(id)) remembered += subjectWeight;
      subjects.set(id, targets);
      for (const [old, at] of targets) {
        if (at > now - suspiciousWindowMs) break;
        targets.delete(old);
        remembered--;
      }
      while (remembered > maxRememberedTargets && subjects.size > 1) {
        for (const oldest of [...subjects.keys().take(Math.min(forgottenAtOnce, subjects.size - 1))]) forget(oldest);
      }
      if (redis) void tell(redis, subject, id, hash);
      if (targets.size < most) return;
      forget(id);
      onSuspicious(subject);
    },
  };
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, hashLength);
}
