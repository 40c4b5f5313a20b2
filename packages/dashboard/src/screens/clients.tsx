/** API clients: which programs may connect, with which rights, and when each last did. Secrets are shown once. */

import type { OauthClient } from "@emanet/client/source";
import { useMutation, useQuery } from "@tanstack/react-query";
import { FileClock, KeyRound, Plus, ScrollText, Upload } from "lucide-react";
import { type ReactNode, useState } from "react";
import { client, queries } from "../api/client.ts";
import { clientsQuery } from "../api/queries.ts";
import { rolesWith, useRights } from "../api/rights.ts";
import { perform } from "../api/step-up.ts";
import { recently } from "../format.ts";
import { ConfirmDialog, SecretDialog } from "../parts/act-dialogs.tsx";
import { Button } from "../parts/button.tsx";
import { Field } from "../parts/field.tsx";
import { ShownName, visibleName } from "../parts/shown-name.tsx";
import { CopyButton, NoPermission, QueryView } from "../parts/states.tsx";
import { Screen } from "../shell/screen.tsx";
import { t } from "../strings/index.ts";
import { NewClient, type Wishes } from "./client-new.tsx";

const nothing: Wishes = { name: "", scopes: [] };

type Opened =
  | { readonly kind: "new"; readonly wishes: Wishes }
  | { readonly kind: "rotate" | "revoke"; readonly program: OauthClient };

export function Clients() {
  const { may, whyNot } = useRights();
  const isHead = may("account:write");
  const programs = useQuery({ ...clientsQuery, enabled: isHead });
  const [opened, setOpened] = useState<Opened | null>(null);
  const close = () => setOpened(null);
  const why = whyNot("account:write");
  const add = (wishes: Wishes) => setOpened({ kind: "new", wishes });
  return (
    <Screen
      title={t.clients.title}
      actions={
        <Button
          look="primary"
          icon={<Plus size={16} aria-hidden="true" />}
          unavailable={why}
          onClick={() => add(nothing)}
        >
          {t.clients.add}
        </Button>
      }
    >
      {isHead ? (
        <QueryView query={programs} lines={6}>
          {(list) =>
            list.length === 0 ? (
              <Recipes why={why} onUse={add} />
            ) : (
              <List programs={list} why={why} onOpen={setOpened} />
            )
          }
        </QueryView>
      ) : (
        <NoPermission roles={rolesWith("account:write")} />
      )}
      {opened?.kind === "new" && <NewClient wishes={opened.wishes} onClose={close} />}
      {opened?.kind === "rotate" && <RotateDialog program={opened.program} onClose={close} />}
      {opened?.kind === "revoke" && <RevokeDialog program={opened.program} onClose={close} />}
    </Screen>
  );
}

interface Recipe extends Wishes {
  readonly title: string;
  readonly detail: string;
  readonly icon: ReactNode;
}

/** What most programs need, and nothing more. */
function recipesOf(): readonly Recipe[] {
  const { backup, report, audit } = t.clients.recipes;
  return [
    { ...backup, icon: <Upload size={20} aria-hidden="true" />, scopes: ["snapshots:write"] },
    { ...report, icon: <FileClock size={20} aria-hidden="true" />, scopes: ["snapshots:read", "taxpayers:read"] },
    { ...audit, icon: <ScrollText size={20} aria-hidden="true" />, scopes: ["audit:read"] },
  ];
}

function Recipes({ why, onUse }: { readonly why: string | undefined; readonly onUse: (wishes: Wishes) => void }) {
  return (
    <div className="recipes">
      <KeyRound size={28} aria-hidden="true" />
      <h2>{t.clients.empty}</h2>
      <p className="lead">{t.clients.emptyDetail}</p>
      <ul>
        {recipesOf().map(({ title, detail, icon, name, scopes }) => (
          <li key={title} className="card recipe">
            <span className="option-icon">{icon}</span>
            <h3>{title}</h3>
            <p>{detail}</p>
            <Scopes scopes={scopes} />
            <Button size="small" unavailable={why} onClick={() => onUse({ name, scopes })}>
              {t.clients.use}
              <span className="sr-only">: {title}</span>
            </Button>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Scopes({ scopes }: { readonly scopes: readonly string[] }) {
  return (
    <span className="scopes">
      {scopes.map((scope) => (
        <code key={scope} className="scope" title={t.clients.scopeTexts[scope]}>
          {scope}
        </code>
      ))}
    </span>
  );
}

interface ListProps {
  readonly programs: readonly OauthClient[];
  readonly why: string | undefined;
  readonly onOpen: (opened: Opened) => void;
}

function List({ programs, why, onOpen }: ListProps) {
  return (
    <section className="card" aria-labelledby="clients-title">
      <header className="card-header">
        <h2 id="clients-title">{t.clients.lead(programs.length)}</h2>
      </header>
      <ul className="rows">
        {programs.map((program) => (
          <Item key={program.id} program={program} why={why} onOpen={onOpen} />
        ))}
      </ul>
    </section>
  );
}

interface ItemProps extends Pick<ListProps, "why" | "onOpen"> {
  readonly program: OauthClient;
}

function Item({ program, why, onOpen }: ItemProps) {
  const { last_used_at: used, vault_ids: vaults } = program;
  return (
    <li className="row client">
      <span className="option-icon">
        <KeyRound size={17} aria-hidden="true" />
      </span>
      <div>
        <strong>
          <ShownName name={program.name} />
          {program.review_since !== null && <span className="tag tag-late">{t.clients.review}</span>}
        </strong>
        <span>
          <code>{program.id}</code> <CopyButton text={program.id} label={`${t.copy}: ${t.clients.id}`} />
        </span>
        <span>
          {[
            used === null ? t.clients.neverUsed : t.clients.lastUsed(recently(used)),
            vaults === null ? t.clients.allVaults : t.clients.vaults(vaults.length),
            t.roles[program.role] ?? program.role,
            ...(program.grant_types.includes("authorization_code") ? [t.clients.forMembers] : []),
          ].join(" · ")}
        </span>
        <Scopes scopes={program.scopes} />
      </div>
      <span className="row-actions">
        {program.auth_method === "client_secret" && (
          <Button size="small" unavailable={why} onClick={() => onOpen({ kind: "rotate", program })}>
            {t.clients.rotate}
          </Button>
        )}
        {/* Revoking also works while the account is suspended. */}
        <Button size="small" look="danger" onClick={() => onOpen({ kind: "revoke", program })}>
          {t.clients.revoke}
        </Button>
      </span>
    </li>
  );
}

interface ProgramProps {
  readonly program: OauthClient;
  readonly onClose: () => void;
}

const dayS = "86400";

function RotateDialog({ program, onClose }: ProgramProps) {
  const [overlap, setOverlap] = useState(dayS);
  const work = useMutation({
    mutationFn: async () => {
      const { id } = program;
      // What is on the page may be old: the tag of now is needed, so that two people do not replace each other's secret.
      const { etag } = await client.oauthClients.get.answer({ id });
      return perform((options) =>
        client.oauthClients.rotateSecret(
          { id, body: { overlap_s: Number(overlap) } },
          { ...options, ifMatch: etag ?? "*" },
        ),
      );
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ["clients"] }),
  });
  if (work.data !== undefined)
    return (
      <SecretDialog
        title={t.clients.secret}
        detail={t.clients.secretDetail}
        secret={work.data.secret}
        onClose={onClose}
      />
    );
  return (
    <ConfirmDialog
      title={t.clients.rotateAsk(visibleName(program.name))}
      confirm={t.clients.rotate}
      work={work}
      onClose={onClose}
    >
      <Field label={t.clients.overlap} hint={t.clients.overlapHint}>
        {(ids) => (
          <select {...ids} className="input" value={overlap} onChange={(event) => setOverlap(event.target.value)}>
            {Object.entries(t.clients.overlaps).map(([seconds, text]) => (
              <option key={seconds} value={seconds}>
                {text}
              </option>
            ))}
          </select>
        )}
      </Field>
    </ConfirmDialog>
  );
}

function RevokeDialog({ program, onClose }: ProgramProps) {
  const work = useMutation({
    mutationFn: () =>
      perform(({ idempotencyKey: _key, ...options }) => client.oauthClients.delete({ id: program.id }, options)),
    onSuccess: async () => {
      onClose();
      await queries.invalidateQueries({ queryKey: ["clients"] });
    },
  });
  const title = t.clients.revokeAsk(visibleName(program.name));
  const texts = { title, detail: t.clients.revokeDetail, confirm: t.clients.revoke };
  return <ConfirmDialog {...texts} isDanger work={work} onClose={onClose} />;
}
