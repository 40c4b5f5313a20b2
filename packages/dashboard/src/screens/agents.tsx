/** The machines that send backups: when each was last seen, how its last backup ended, its version; its vaults; its revocation. */

import type { Agent } from "@emanet/client/source";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { changeVaults } from "../api/agent-vaults.ts";
import { client, queries } from "../api/client.ts";
import { vaultsQuery } from "../api/queries.ts";
import { useRights } from "../api/rights.ts";
import { perform } from "../api/step-up.ts";
import { recently } from "../format.ts";
import { ConfirmDialog } from "../parts/act-dialogs.tsx";
import { Button } from "../parts/button.tsx";
import { Glyph, type Status } from "../parts/glyph.tsx";
import { ShownName, visibleName } from "../parts/shown-name.tsx";
import { QueryView } from "../parts/states.tsx";
import { VaultPicker } from "../parts/vault-picker.tsx";
import { t } from "../strings/index.ts";

type Asked = { readonly kind: "revoke" | "vaults"; readonly agent: Agent } | null;

export function AgentList({ agents }: { readonly agents: readonly Agent[] }) {
  const [asked, setAsked] = useState<Asked>(null);
  const close = () => setAsked(null);
  return (
    <section className="card" aria-labelledby="agents-title">
      <header className="card-header">
        <h2 id="agents-title">{t.sources.devices}</h2>
      </header>
      {agents.length === 0 ? (
        <p className="card-empty">{t.sources.noDevicesYet}</p>
      ) : (
        <ul className="rows">
          {agents.map((agent) => (
            <Item key={agent.id} agent={agent} onAsk={(kind) => setAsked({ kind, agent })} />
          ))}
        </ul>
      )}
      {asked?.kind === "revoke" && <RevokeDialog agent={asked.agent} onClose={close} />}
      {asked?.kind === "vaults" && <VaultsDialog agent={asked.agent} onClose={close} />}
    </section>
  );
}

const resultStatus: Readonly<Record<string, Status>> = { completed: "ok", failed: "failed", canceled: "none" };

/** The worst that is known: a failed backup counts more than being there. */
function statusOfAgent({ online, last_result: last }: Agent): Status {
  if (last?.status === "failed") return "failed";
  return online ? "ok" : "none";
}

interface ItemProps {
  readonly agent: Agent;
  readonly onAsk: (kind: "revoke" | "vaults") => void;
}

function Item({ agent, onAsk }: ItemProps) {
  const { may, whyNot } = useRights();
  const isHead = may("account:write");
  const { last_result: last, last_seen_at: seen } = agent;
  return (
    <li className="row agent">
      <Glyph status={statusOfAgent(agent)} size={18} />
      <div>
        <strong>
          <ShownName name={agent.name} />{" "}
          <span className={agent.online ? "tag tag-ok" : "tag"}>
            {agent.online ? t.sources.online : t.sources.offline}
          </span>
        </strong>
        <span>{seen === null ? t.sources.neverSeen : t.sources.seen(recently(seen))}</span>
        <span>
          {last === null ? (
            t.sources.noResult
          ) : (
            <>
              <Glyph status={resultStatus[last.status] ?? "none"} size={12} />{" "}
              {t.sources.resultAt(t.sources.results[last.status] ?? last.status, recently(last.at))}
              {last.failure !== null && `. ${last.failure}`}
            </>
          )}
        </span>
        <span>
          {[
            ...(agent.os === null ? [] : [visibleName(agent.os)]),
            ...(agent.version === null ? [] : [t.sources.version(visibleName(agent.version))]),
            t.sources.vaults(agent.vaults.length),
            ...(agent.writer.kind === "client" ? [t.sources.ofClient] : []),
          ].join(" · ")}
          {agent.version !== null && isOlder(agent.version, agent.newest_version) && (
            <span className="tag tag-late">{t.sources.newer(agent.newest_version)}</span>
          )}
        </span>
      </div>
      <span className="row-actions">
        <Button size="small" unavailable={whyNot("account:write")} onClick={() => onAsk("vaults")}>
          {t.sources.changeVaults}
        </Button>
        <Button
          size="small"
          look="danger"
          // It also works while the account is suspended.
          unavailable={isHead ? undefined : whyNot("account:write")}
          onClick={() => onAsk("revoke")}
        >
          {t.sources.revoke}
        </Button>
      </span>
    </li>
  );
}

/** By three numbers. A version of another form is compared with nothing. */
export function isOlder(version: string, newest: string): boolean {
  const form = /^(\d+)\.(\d+)\.(\d+)$/;
  const [own, other] = [form.exec(version), form.exec(newest)];
  if (own === null || other === null) return false;
  for (const part of [1, 2, 3]) {
    const difference = Number(own[part]) - Number(other[part]);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

function RevokeDialog({ agent, onClose }: { readonly agent: Agent; readonly onClose: () => void }) {
  const work = useMutation({
    mutationFn: () =>
      perform(({ idempotencyKey: _key, ...options }) => client.agents.delete({ id: agent.id }, options)),
    onSuccess: async () => {
      onClose();
      await queries.invalidateQueries({ queryKey: ["agents"] });
    },
  });
  const title = t.sources.revokeAsk(visibleName(agent.name));
  const texts = { title, detail: t.sources.revokeDetail, confirm: t.sources.revoke };
  return <ConfirmDialog {...texts} isDanger work={work} onClose={onClose} />;
}

function VaultsDialog({ agent, onClose }: { readonly agent: Agent; readonly onClose: () => void }) {
  const vaults = useQuery(vaultsQuery);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(agent.vaults));
  const [given, setGiven] = useState(0);
  const work = useMutation({
    mutationFn: () => changeVaults(agent, [...chosen], setGiven),
    onSuccess: onClose,
    onSettled: () => queries.invalidateQueries({ queryKey: ["agents"] }),
  });
  const title = t.sources.vaultsTitle(visibleName(agent.name));
  return (
    <ConfirmDialog title={title} detail={t.sources.vaultsNote} confirm={t.save} work={work} onClose={onClose}>
      <QueryView query={vaults} lines={6}>
        {(list) => <VaultPicker label={t.sources.changeVaults} vaults={list} chosen={chosen} onChosen={setChosen} />}
      </QueryView>
      {work.isPending && given > 0 && (
        <p className="lead" role="status">
          {t.sources.vaultsProgress(given, chosen.size)}
        </p>
      )}
    </ConfirmDialog>
  );
}
