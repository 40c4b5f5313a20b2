/** Runs the agent's command in this process, against a real service or a local repository. */

import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { type Environment, readEnvironment } from "../../packages/agent/src/config.ts";
import type { AgentContext } from "../../packages/agent/src/context.ts";
import { textsOf } from "../../packages/agent/src/output/texts.ts";
import { runCommand } from "../../packages/agent/src/run.ts";
import { demoOf, roomyLimits } from "../../packages/server/src/oauth/testing.ts";
import {
  startTestService,
  type TestService,
  type TestServiceOptions,
} from "../../packages/server/src/testing/running.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";

type Cleanup = Parameters<typeof startTestService>[0];

export type Line = Readonly<Record<string, unknown>>;

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly bytes: Buffer;
  /** The lines of --json. */
  readonly lines: readonly Line[];
  /** The last of them: the summary. */
  readonly last: Line;
}

export interface RunOptions {
  readonly stdin?: string | Buffer;
  readonly signal?: AbortSignal;
  readonly environment?: Partial<Environment>;
  readonly context?: Partial<AgentContext>;
}

export class TestAgent {
  readonly folder: string;
  readonly environment: Environment;

  constructor(folder: string, variables: Readonly<Record<string, string>> = {}) {
    this.folder = folder;
    this.environment = readEnvironment(
      { ...variables, XDG_CONFIG_HOME: folder, XDG_CACHE_HOME: path.join(folder, "cache") },
      "linux",
      folder,
    );
  }

  async run(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
    let [stdout, stderr] = ["", ""];
    const bytes: Buffer[] = [];
    const environment = { ...this.environment, ...options.environment };
    const context: AgentContext = {
      environment,
      texts: textsOf(environment.language),
      version: "0.0.0-test",
      now: () => Date.now(),
      random: (length) => randomBytes(length),
      newKey: () => randomUUID(),
      wait: async (ms) => {
        await delay(Math.min(ms, 50));
      },
      out: (text) => {
        stdout += text;
      },
      err: (text) => {
        stderr += text;
      },
      outBytes: async (chunk) => {
        bytes.push(Buffer.from(chunk));
      },
      stdin: Readable.from(options.stdin === undefined ? [] : [Buffer.from(options.stdin)]),
      freeBytes: () => 1e12,
      program: ["/usr/bin/node", "/opt/emanet/emanet.mjs"],
      execute: () => ({ code: 0, output: "" }),
      terminalColumns: () => null,
      signal: options.signal ?? new AbortController().signal,
      ...options.context,
    };
    const code = await runCommand(args, context);
    const lines = args.includes("--json")
      ? stdout
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => JSON.parse(line) as Line)
      : [];
    return { code, stdout, stderr, bytes: Buffer.concat(bytes), lines, last: lines.at(-1) ?? {} };
  }

  /** A run that must end well. With `--json`. */
  async json(...args: readonly string[]): Promise<readonly Line[]> {
    const { code, lines, stdout, stderr } = await this.run([...args, "--json"]);
    assert.equal(code, 0, `${args.join(" ")}: ${stdout} ${stderr}`);
    return lines;
  }

  /** The summary of a backup that must end well. */
  async backUp(folder: string, ...more: readonly string[]): Promise<Line> {
    return (await this.json("backup", folder, "--source", "ofis", "--threads", "0", ...more)).at(-1) ?? {};
  }
}

export interface AgentService {
  readonly service: TestService;
  readonly demo: Awaited<ReturnType<typeof demoOf>>;
  readonly caFile: string;
}

const limits = {
  ...roomyLimits,
  EMANET_LIMIT_SNAPSHOTS_CREATE: "100000/60",
  EMANET_LIMIT_SNAPSHOTS_CREATE_HOUR: "100000/3600",
  EMANET_LIMIT_SNAPSHOTS_LIST: "100000/60",
  EMANET_LIMIT_RESTORE_CREATE: "100000/60",
};

/** A service with its demo account. */
export async function startForAgents(cleanup: Cleanup, options: TestServiceOptions = {}): Promise<AgentService> {
  const service = await startTestService(cleanup, { ...options, settings: { ...limits, ...options.settings } });
  const caFile = path.join(await temporaryFolder(cleanup), "ca.pem");
  writeFileSync(caFile, service.ca);
  return { service, demo: await demoOf(service), caFile };
}

/** An agent with the demo client, or with another one. */
export async function agentOf(
  cleanup: Cleanup,
  { service, demo, caFile }: AgentService,
  credential: { readonly id: string; readonly secret: string } = { id: demo.client_id, secret: demo.client_secret },
): Promise<TestAgent> {
  return new TestAgent(await temporaryFolder(cleanup), {
    EMANET_URL: service.url,
    EMANET_CA_FILE: caFile,
    EMANET_CLIENT_ID: credential.id,
    EMANET_CLIENT_SECRET: credential.secret,
  });
}

/** An agent with a local repository. */
export async function localAgent(
  cleanup: Cleanup,
): Promise<{ readonly agent: TestAgent; readonly repo: readonly string[] }> {
  const folder = await temporaryFolder(cleanup);
  const agent = new TestAgent(folder);
  const repo = ["--repo", path.join(folder, "repo")];
  await agent.json("init", ...repo);
  return { agent, repo };
}

/** Writes files; their folders are made. Names ending with a slash are folders. */
export function writeTree(folder: string, files: Readonly<Record<string, string | Buffer>>): string {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, name);
    mkdirSync(name.endsWith("/") ? file : path.dirname(file), { recursive: true });
    if (!name.endsWith("/")) writeFileSync(file, content);
  }
  return folder;
}
