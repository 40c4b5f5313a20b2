/** The conformance suite of the upload port through HTTP: two services on one database and store answer in turn, and answers are lost. */

// long: 15 s

import { randomBytes } from "node:crypto";
import { after } from "node:test";
import { AnswerLostError, type Catalog, type UploadCall, type Vault } from "@emanet/engine";
import {
  SeededRandom,
  type TargetOptions,
  type TargetUnderTest,
  testEnvironmentOf,
  uploadTargetConformance,
} from "@emanet/engine/testing";
import type { Services as OpenServices } from "../kernel/domain-services.ts";
import { tokenFor } from "../testing/accounts.ts";
import { startTestService, type TestService } from "../testing/running.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import {
  createSnapshot,
  inTurn,
  noUploadLimits,
  openAgent,
  remoteTarget,
  type Services,
  type TestSnapshot,
  type UploadAgent,
} from "./testing.ts";

const storage = await temporaryFolder({ after });
const settings = {
  ...noUploadLimits,
  EMANET_STORAGE: `file:${storage}`,
  EMANET_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
  EMANET_PUBLIC_URL: "https://emanet.example",
};

/** The catalogs that a test may break, by vault: a broken step of one is broken in both services. */
const breakable = new Map<string, Catalog>();

function sharingBroken(real: OpenServices): OpenServices {
  const open: OpenServices["vaults"]["open"] = async (accountId, vaultId, context) => {
    const vault = await real.vaults.open(accountId, vaultId, context);
    const shared = breakable.get(vaultId);
    if (shared === undefined) return vault;
    const catalog = new Proxy(vault.catalog, {
      get: (target, name) => {
        if (name === "commit" && Object.hasOwn(shared, name)) return shared.commit.bind(shared);
        if (name === "renewUpload" && Object.hasOwn(shared, name)) return shared.renewUpload.bind(shared);
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    return { ...vault, catalog };
  };
  return { ...real, vaults: { ...real.vaults, open } };
}

const first = await startTestService({ after }, { settings, services: sharingBroken });
const more = { database: first.database, clock: first.clock, services: sharingBroken };
const second = await startTestService({ after }, { settings, ...more });

/** Loses one of eight answers. */
function losing(call: (request: UploadCall) => Promise<Uint8Array>, random: SeededRandom) {
  return async (request: UploadCall) => {
    const answer = await call(request);
    if (random.below(8) === 0) throw new AnswerLostError("the answer was lost");
    return answer;
  };
}

/** Every test has an account and an empty vault. Each owner of the suite is an agent with a source of its own. */
async function make(): Promise<TargetUnderTest> {
  const services = inTurn([first, second]);
  const { accountId } = await tokenFor(first);
  const clients = new Clients(services, accountId ?? "");
  const main = await clients.agent({ upload: "", owner: "a" });
  const vault = await openVault(first, main);
  breakable.set(main.vaultId, vault.catalog);
  const { clock } = first;
  const ctx = {
    now: () => clock.now().getTime(),
    random: (length: number) => randomBytes(length),
    advance: (ms: number) => void clock.advance(ms),
  };
  const random = new SeededRandom(530);
  return {
    env: testEnvironmentOf(ctx, vault, main.signer),
    target: (options) => clients.target(options, (call) => losing(call, random)),
    backup: (options) => clients.backup(options),
  };
}

async function openVault(service: TestService, { accountId, vaultId }: UploadAgent): Promise<Vault> {
  const vault = await service.running.services?.vaults.open(accountId, vaultId);
  if (vault === undefined) throw new Error("no services");
  return vault;
}

class Clients {
  readonly #services: Services;
  readonly #accountId: string;
  readonly #agents = new Map<string, Promise<UploadAgent>>();
  readonly #snapshots = new Map<string, Promise<TestSnapshot>>();

  constructor(services: Services, accountId: string) {
    this.#services = services;
    this.#accountId = accountId;
  }

  async agent({ owner, scope }: TargetOptions): Promise<UploadAgent> {
    const made = this.#agents.get(owner) ?? openAgent(this.#services, this.#accountId, this.#agents.size + 1);
    this.#agents.set(owner, made);
    return scope === "lineage" ? (await made).writeOnly() : made;
  }

  /** The snapshot of an upload's name. The first agent that names it has created it. */
  snapshot(options: TargetOptions): Promise<TestSnapshot> {
    const known = this.#snapshots.get(options.upload);
    if (known !== undefined) return known;
    const made = this.agent(options).then((agent) => createSnapshot(this.#services, agent, options.owner));
    this.#snapshots.set(options.upload, made);
    return made;
  }

  target(options: TargetOptions, network: (call: Call) => Call) {
    const made = Promise.all([this.agent(options), this.snapshot(options)]);
    const opened = made.then(([agent, { id }]) => remoteTarget(this.#services, agent, id, network));
    return lazily(opened);
  }

  async backup(options: TargetOptions) {
    const [{ keys, signer }, { snapshotId, sourceId }] = [await this.agent(options), await this.snapshot(options)];
    return { keys, signer, snapshotId, sourceName: sourceId };
  }
}

type Call = (request: UploadCall) => Promise<Uint8Array>;
type Target = ReturnType<TargetUnderTest["target"]>;

function lazily(opened: Promise<Target>): Target {
  return {
    begin: async (base) => (await opened).begin(base),
    reserveOrdinals: async (request, count) => (await opened).reserveOrdinals(request, count),
    offer: async (queries) => (await opened).offer(queries),
    offerNodes: async (ids) => (await opened).offerNodes(ids),
    putPack: async (name, body) => (await opened).putPack(name, body),
    register: async (unit) => (await opened).register(unit),
    renew: async () => (await opened).renew(),
    complete: async (draft) => (await opened).complete(draft),
    abandon: async () => (await opened).abandon(),
  };
}

uploadTargetConformance("RemoteTarget over HTTP to two services, answers are lost", make);
