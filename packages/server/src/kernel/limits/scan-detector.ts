/**
 * Detects scans: a subject that requests too many different targets within a minute is reported once. A *target* is the
 * path of a refused request, or the operation of any other request: reading many resources through one operation is one
 * target. A *subject* is the credential of the request, or its address when it has none. So a client is never reported
 * for the requests of another one.
 */

import { hash } from "node:crypto";
import type { Clock } from "../clock.ts";
import { type RedisConnection, redisScript } from "./redis-connection.ts";
import { targetScript } from "./redis-script.ts";
import { StoreDown } from "./store.ts";

export type ScanSubject =
  /** An OAuth client, or a session of a person; `accountId` is null for staff. */
  | { readonly kind: "client" | "session"; readonly id: string; readonly accountId: string | null }
  | { readonly kind: "address"; readonly id: string };

/** The contract's limit of different targets … */
export const scanTargets = 1000;
/** … within this time. */
export const scanWindowMs = 60_000;

/** For all subjects together: about 40 MB when full. The least recently used subjects are dropped first. */
export const maxRememberedTargets = 500_000;

/** The memory of a subject without its targets (its map), in targets. */
const subjectWeight = 9;

/** Dropped at a time: finding the oldest entry of a large map is slow, so it is not done for every new subject. */
const droppedAtOnce = 1_000;

/** A target that was sent to the shared store less than this ago is not sent again. */
const resendMs = 5_000;

/** The time of a target in this process may be this old: nearly all requests are for a target that was just asked for. */
const refreshMs = 1_000;

/** 64 bits: a thousand targets of one subject do not collide. */
const hashLength = 11;

export interface ScanDetector {
  observe(subject: ScanSubject, target: string): void;
}

export interface ScanDetectorOptions {
  readonly clock: Clock;
  /** With one, all processes count together. */
  readonly redis?: RedisConnection;
  /** The name of a subject in the shared store, without personal data (an address). */
  readonly nameOf: (id: string) => string;
  /** In place of {@link scanTargets}. */
  readonly most?: number;
  readonly onScan: (subject: ScanSubject) => void;
  readonly onError: (error: unknown) => void;
}

export function createScanDetector(options: ScanDetectorOptions): ScanDetector {
  const { clock, redis, nameOf, most = scanTargets, onScan, onError } = options;
  /** Subjects in order of last use. Each has its targets in order of last use, with the time. */
  const subjects = new Map<string, Map<string, number>>();
  let remembered = 0;
  const script = redisScript(targetScript);
  const forget = (id: string) => {
    remembered -= (subjects.get(id)?.size ?? 0) + subjectWeight;
    subjects.delete(id);
  };
  const send = async (connection: RedisConnection, subject: ScanSubject, id: string, target: string) => {
    const values = [String(clock.offsetMs?.() ?? 0), target, String(scanWindowMs), String(most)];
    try {
      const found = await connection.run(script, [`emanet:targets:${nameOf(id)}`], values);
      if (Number(found) === 1) onScan(subject);
    } catch (error) {
      // While the store does not answer, each process counts alone.
      if (!(error instanceof StoreDown)) onError(error);
    }
  };
  return {
    observe(subject, target) {
      const now = clock.now().getTime();
      const id = `${subject.kind} ${subject.id}`;
      const name = hashOf(target);
      const targets = subjects.get(id) ?? new Map<string, number>();
      const before = targets.get(name);
      if (before !== undefined && before > now - (redis ? resendMs : refreshMs)) return;
      if (targets.delete(name)) remembered--;
      targets.set(name, now);
      remembered++;
      if (!subjects.delete(id)) remembered += subjectWeight;
      subjects.set(id, targets);
      for (const [old, at] of targets) {
        if (at > now - scanWindowMs) break;
        targets.delete(old);
        remembered--;
      }
      while (remembered > maxRememberedTargets && subjects.size > 1) {
        for (const oldest of [...subjects.keys().take(Math.min(droppedAtOnce, subjects.size - 1))]) forget(oldest);
      }
      if (redis) void send(redis, subject, id, name);
      if (targets.size < most) return;
      forget(id);
      onScan(subject);
    },
  };
}

function hashOf(text: string): string {
  const known = hashes.get(text);
  if (known !== undefined) return known;
  if (hashes.size >= maxKnownHashes) hashes.clear();
  const made = hash("sha256", text, "base64url").slice(0, hashLength);
  // A long path is rare, and would fill the memory.
  if (text.length <= maxKnownLength) hashes.set(text, made);
  return made;
}

/** Hashes of targets that were asked for lately: most requests are for one of some hundred operations. */
const hashes = new Map<string, string>();

/** Together about 200 kB. */
const maxKnownHashes = 1_000;
const maxKnownLength = 64;
