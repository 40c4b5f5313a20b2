/**
 * What grows with what: rows and bytes of PostgreSQL, objects of the store and memory of the service are read while nothing runs, before and after each step of the benchmark. The
 * difference, divided by what the step made, is a slope.
 *
 * A backup makes a snapshot, new files and new versions of files. One round of backups in which nothing has changed shows what a snapshot alone adds; what first backups and nights add
 * to that is divided among their files.
 */

import { withConnection } from "../../packages/server/src/kernel/database/pool.ts";
import { embeddedDatabase } from "../end-to-end/embedded-database.ts";
import { folderSize } from "../engine/measure.ts";
import type { MeasuredService } from "./service-processes.ts";

export const stepNames = ["start", "accounts", "vaults", "agents", "first backups", "unchanged", "nights"] as const;
export type StepName = (typeof stepNames)[number];

export interface TableSize {
  readonly rows: number;
  /** With indexes and long values. */
  readonly bytes: number;
}

/** What there is after a step. */
export interface Reading {
  readonly step: StepName;
  /** What the step made: accounts, vaults, agents, snapshots. */
  readonly made: number;
  /** Files that it made or changed. */
  readonly versions: number;
  readonly tables: Readonly<Record<string, TableSize>>;
  readonly objects: number;
  readonly objectBytes: number;
  /** Resident. */
  readonly apiBytes: number;
  readonly workerBytes: number;
}

export async function readGrowth(
  service: MeasuredService,
  step: Pick<Reading, "step" | "made" | "versions">,
): Promise<Reading> {
  const { files: objects, bytes: objectBytes } = folderSize(service.objects);
  const { apiResident: apiBytes, workerResident: workerBytes } = service.memory();
  return { ...step, tables: await tablesOf(service), objects, objectBytes, apiBytes, workerBytes };
}

function tablesOf({ data }: MeasuredService): Promise<Record<string, TableSize>> {
  return withConnection(embeddedDatabase(data, "postgres"), async (client) => {
    const { rows: tables } = await client.query<{ name: string; bytes: string }>(
      `select relname as name, pg_total_relation_size(oid) as bytes from pg_class
        where relnamespace = 'emanet'::regnamespace and relkind = 'r' order by relname`,
    );
    const sizes: Record<string, TableSize> = {};
    for (const { name, bytes } of tables) {
      const { rows } = await client.query<{ count: string }>(
        `select count(*) from emanet.${client.escapeIdentifier(name)}`,
      );
      sizes[name] = { rows: Number(rows[0]?.count), bytes: Number(bytes) };
    }
    return sizes;
  });
}

/** Of one thing more. */
export interface Slope {
  readonly rows: number;
  readonly databaseBytes: number;
  readonly objects: number;
  readonly objectBytes: number;
  readonly apiBytes: number;
  readonly workerBytes: number;
}

const slopeNames = ["rows", "databaseBytes", "objects", "objectBytes", "apiBytes", "workerBytes"] as const;

export interface Slopes {
  readonly account: Slope;
  readonly vault: Slope;
  readonly agent: Slope;
  /** A first backup and a night, whole. */
  readonly firstBackup: Slope;
  readonly night: Slope;
  /** A snapshot in which nothing is new, a file that no snapshot had before, a version of one that was there. */
  readonly snapshot: Slope;
  readonly newFile: Slope;
  readonly version: Slope;
  /** The tables that grew most in a step, largest first: bytes and rows of one thing more. */
  readonly tables: Readonly<Record<StepName, readonly (TableSize & { readonly name: string })[]>>;
}

/** Readings in the order of their steps. */
export function slopesOf(readings: readonly Reading[]): Slopes {
  const at = (step: StepName) => {
    const index = readings.findIndex((each) => each.step === step);
    const [before, after] = [readings[index - 1], readings[index]];
    if (before === undefined || after === undefined) throw new Error(`there is no reading of ${step}`);
    return { before, after };
  };
  const whole = (step: StepName) => slopeBetween(at(step).before, at(step).after);
  const [firstBackup, snapshot, night] = [whole("first backups"), whole("unchanged"), whole("nights")];
  const perFile = (step: StepName) => {
    const { versions, made } = at(step).after;
    return mapSlope((name) => ((whole(step)[name] - snapshot[name]) * made) / Math.max(1, versions));
  };
  return {
    ...{ account: whole("accounts"), vault: whole("vaults"), agent: whole("agents"), firstBackup, snapshot, night },
    ...{ newFile: perFile("first backups"), version: perFile("nights") },
    tables: Object.fromEntries(
      stepNames.map((step) => [step, step === "start" ? [] : tablesBetween(at(step).before, at(step).after)]),
    ) as unknown as Slopes["tables"],
  };
}

function mapSlope(value: (name: (typeof slopeNames)[number]) => number): Slope {
  return Object.fromEntries(slopeNames.map((name) => [name, value(name)])) as unknown as Slope;
}

function slopeBetween(before: Reading, after: Reading): Slope {
  const sums = ({ tables, ...rest }: Reading) => ({
    ...rest,
    rows: Object.values(tables).reduce((sum, { rows }) => sum + rows, 0),
    databaseBytes: Object.values(tables).reduce((sum, { bytes }) => sum + bytes, 0),
  });
  const [from, to] = [sums(before), sums(after)];
  return mapSlope((name) => (to[name] - from[name]) / Math.max(1, after.made));
}

function tablesBetween(before: Reading, after: Reading): (TableSize & { readonly name: string })[] {
  const made = Math.max(1, after.made);
  return Object.entries(after.tables)
    .map(([name, size]) => ({
      name,
      rows: (size.rows - (before.tables[name]?.rows ?? 0)) / made,
      bytes: (size.bytes - (before.tables[name]?.bytes ?? 0)) / made,
    }))
    .filter(({ rows, bytes }) => rows > 0 || bytes > 0)
    .sort((a, b) => b.bytes - a.bytes);
}
