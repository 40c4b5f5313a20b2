/**
 * The first start in the profiles `local` and `sandbox` makes one staff member and one demo account with an owner and an
 * OAuth client, so that a developer or a test can start at once. The domain owns the table `first_run` with one row: their
 * secrets, encrypted. The transaction that makes the people also writes this row, so the people never exist without their
 * secrets, and every process on the database writes the same file.
 */

import { insertAccount, insertClient, insertPerson, storeSecret } from "../accounts/index.ts";
import { oauthScopes } from "../declarations.ts";
import { foldEmail } from "../identifiers/index.ts";
import { hashPassword, newTotpSecret, sealTotp, setCredentials } from "../identity/index.ts";
import type { Random } from "../kernel/clock.ts";
import type { DataFolder } from "../kernel/data-folder.ts";
import { replaceFile } from "../kernel/durable-file.ts";
import type { Secrets } from "../kernel/secrets.ts";
import type { Transactions, Tx, TxContext } from "../kernel/tx.ts";
import { findFirstRun, insertFirstRun } from "./store.ts";

interface Login {
  readonly email: string;
  readonly password: string;
  readonly totp_secret: string;
}

/** The content of the file, without the URLs. */
export interface FirstRun {
  readonly staff: Login;
  readonly demo: Login & {
    readonly account_id: string;
    readonly package: "corporate";
    readonly client_id: string;
    readonly client_secret: string;
  };
}

interface Sources {
  readonly transactions: Transactions;
  readonly secrets: Secrets;
  readonly random: Random;
}

interface HashedPassword {
  readonly password: string;
  readonly hash: string;
}

/** The passwords of the people of the first start. */
export type FirstPasswords = Readonly<Record<"staff" | "demo", HashedPassword>>;

const sealContext = Buffer.from("first-run");

/** The people of the first start. The first process makes them. */
export async function prepareFirstRun(sources: Sources, makePasswords = newFirstPasswords): Promise<FirstRun> {
  const context: TxContext = { actor: { kind: "system" }, context: {}, signal: new AbortController().signal };
  const known = await sources.transactions.run(context, { kind: "platform" }, (tx) => read(sources, tx));
  if (known !== undefined) return known;
  // Hashing is slow, so it is outside the transaction.
  const passwords = await makePasswords(sources.random);
  const made = invent(sources.random, passwords);
  return sources.transactions.run(context, { kind: "platform" }, async (tx) => {
    const sealed = sources.secrets.seal("first-run", Buffer.from(JSON.stringify(made)), sealContext);
    // Another process was faster; the insert has waited for its commit.
    if (!(await insertFirstRun(tx, sealed))) return (await read(sources, tx)) ?? made;
    await makeStaff(sources, tx, made.staff, passwords.staff.hash);
    await makeDemo(sources, tx, made.demo, passwords.demo.hash);
    return made;
  });
}

/** Writes `<data>/first-run.json` atomically, flushed to disk, readable only by its owner. */
export async function writeFirstRunFile(
  folder: DataFolder,
  content: { readonly baseUrl: string; readonly caFile: string | null; readonly firstRun: FirstRun },
): Promise<void> {
  const { baseUrl, caFile, firstRun } = content;
  const text = JSON.stringify({ base_url: baseUrl, ca_file: caFile, ...firstRun }, null, 2);
  await replaceFile(firstRunFile(folder), `${text}\n`, 0o600);
}

export function firstRunFile(folder: DataFolder): string {
  return folder.path("first-run.json");
}

async function read({ secrets }: Sources, tx: Tx): Promise<FirstRun | undefined> {
  const sealed = await findFirstRun(tx);
  return sealed && (JSON.parse(secrets.unseal("first-run", sealed, sealContext).toString()) as FirstRun);
}

export async function newFirstPasswords(random: Random): Promise<FirstPasswords> {
  const make = async (): Promise<HashedPassword> => {
    // 144 bits: a sandbox can be reachable from other machines, so these accounts need strong secrets.
    const password = random.bytes(18).toString("base64url");
    return { password, hash: await hashPassword(password, random) };
  };
  const [staff, demo] = await Promise.all([make(), make()]);
  return { staff, demo };
}

function invent(random: Random, { staff, demo }: FirstPasswords): FirstRun {
  const login = (email: string, { password }: HashedPassword): Login => {
    return { email, password, totp_secret: newTotpSecret(random) };
  };
  return {
    staff: login("staff@emanet.example", staff),
    demo: {
      ...login("demo@emanet.example", demo),
      account_id: random.uuid(),
      package: "corporate",
      client_id: random.uuid(),
      client_secret: `ems_${random.bytes(32).toString("base64url")}`,
    },
  };
}

async function makeStaff({ random, secrets }: Sources, tx: Tx, staff: Login, hash: string): Promise<void> {
  const id = random.uuid();
  await insertPerson(tx, {
    id,
    accountId: null,
    role: "staff",
    state: "active",
    email: staff.email,
    emailKey: foldEmail(staff.email),
    fullName: "Emanet Staff",
    phone: null,
    language: "tr",
    invitedBy: null,
  });
  const sealedTotp = sealTotp(secrets, id, staff.totp_secret);
  await setCredentials(tx, { id, accountId: null }, { passwordHash: hash, sealedTotp, totpStep: 0 });
  tx.audit({ action: "staff.added", targets: [{ type: "person", id }] });
}

async function makeDemo(sources: Sources, tx: Tx, demo: FirstRun["demo"], hash: string): Promise<void> {
  const { random, secrets } = sources;
  const accountId = demo.account_id;
  await tx.within({ kind: "account", accountId }, async (tx) => {
    await insertAccount(tx, {
      id: accountId,
      kind: "accounting_office",
      name: "Örnek Mali Müşavirlik",
      taxId: "1234567808",
      package: demo.package,
      language: "tr",
      applicationId: null,
    });
    const id = random.uuid();
    await insertPerson(tx, {
      id,
      accountId,
      role: "owner",
      state: "active",
      email: demo.email,
      emailKey: foldEmail(demo.email),
      fullName: "Ayşe Örnek",
      phone: "+905320000000",
      phoneVerified: true,
      language: "tr",
      invitedBy: null,
    });
    const sealedTotp = sealTotp(secrets, id, demo.totp_secret);
    await setCredentials(tx, { id, accountId }, { passwordHash: hash, sealedTotp, totpStep: 0 });
    await insertClient(tx, {
      id: demo.client_id,
      accountId,
      kind: "api",
      name: "Demo",
      authMethod: "client_secret",
      grantTypes: ["client_credentials"],
      redirectUris: [],
      scopes: Object.keys(oauthScopes),
      vaultIds: null,
      jwks: null,
      role: "owner",
      createdBy: id,
    });
    await storeSecret(tx, sources, { id: demo.client_id, accountId, shownTo: id }, demo.client_secret);
    tx.audit({ action: "account.created", targets: [{ type: "account", id: accountId }] });
  });
}
