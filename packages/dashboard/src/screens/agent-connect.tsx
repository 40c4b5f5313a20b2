/**
 * Connects a machine: the commands to run there, the code that it shows, the approval, and the vaults that it may write to. The
 * approval itself is on the service's own page, where the person signs in for this one decision; folders are chosen on the machine.
 */

import type { Agent } from "@emanet/client/source";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { changeVaults } from "../api/agent-vaults.ts";
import { queries } from "../api/client.ts";
import { agentsQuery, vaultsQuery } from "../api/queries.ts";
import { useRights } from "../api/rights.ts";
import { actMessage, Copyable } from "../parts/act-dialogs.tsx";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { FormError } from "../parts/field.tsx";
import { Glyph } from "../parts/glyph.tsx";
import { ShownName } from "../parts/shown-name.tsx";
import { QueryView } from "../parts/states.tsx";
import { TextField } from "../parts/text-field.tsx";
import { VaultPicker } from "../parts/vault-picker.tsx";
import { t } from "../strings/index.ts";

const commands = {
  install: "npm install --global emanet",
  login: `emanet login --url ${location.origin}`,
  backup: "emanet backup /srv/defter --source defter",
  schedule: "emanet schedule /srv/defter --source defter --at 02:00",
} as const;

function Command({ name }: { readonly name: keyof typeof commands }) {
  return <Copyable text={commands[name]} label={t.sources.copyCommand} />;
}

/** What is done on the machine, from nothing to a backup every night. */
export function InstallSteps() {
  const { install, installDetail, login, loginDetail, backup, backupDetail, schedule } = t.sources.steps;
  return (
    <ol className="install-steps">
      <li>
        <strong>{install}</strong>
        <span>{installDetail}</span>
        <Command name="install" />
      </li>
      <li>
        <strong>{login}</strong>
        <span>{loginDetail}</span>
        <Command name="login" />
      </li>
      <li>
        <strong>{backup}</strong>
        <span>{backupDetail}</span>
        <Command name="backup" />
      </li>
      <li>
        <strong>{schedule}</strong>
        <Command name="schedule" />
      </li>
    </ol>
  );
}

export function ConnectDialog({ onClose }: { readonly onClose: () => void }) {
  const [code, setCode] = useState<string | null>(null);
  const [isReady, setReady] = useState(false);
  // The machine registers itself some seconds after the approval; an event says so, and the list is read again.
  const { data: agents = [], isSuccess } = useQuery(agentsQuery);
  const [before] = useState(() => new Set(queries.getQueryData(agentsQuery.queryKey)?.map(({ id }) => id)));
  const agent = isSuccess ? agents.find(({ id }) => !before.has(id)) : undefined;
  return (
    <Dialog title={t.sources.connect} className="dialog-connect" onClose={onClose}>
      <div className="dialog-body">
        {agent !== undefined ? (
          <Connected agent={agent} isReady={isReady} onReady={() => setReady(true)} onClose={onClose} />
        ) : code === null ? (
          <CodeForm onCode={setCode} />
        ) : (
          <Waiting code={code} onAgain={() => setCode(null)} />
        )}
      </div>
    </Dialog>
  );
}

/** Eight letters, with or without the line between. */
function userCode(text: string): string | null {
  const letters = text.toUpperCase().replaceAll(/[^A-Z]/g, "");
  return letters.length === 8 ? `${letters.slice(0, 4)}-${letters.slice(4)}` : null;
}

const approvalAddress = (code: string): string => `/oauth2/device?user_code=${encodeURIComponent(code)}`;

function CodeForm({ onCode }: { readonly onCode: (code: string) => void }) {
  const [text, setText] = useState("");
  const [isWrong, setWrong] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const code = userCode(text);
    setWrong(code === null);
    if (code === null) return;
    window.open(approvalAddress(code), "_blank", "noopener");
    onCode(code);
  };
  return (
    <form className="connect-form" onSubmit={submit}>
      <p className="lead">{t.sources.connectLead}</p>
      <Command name="login" />
      <details>
        <summary>{t.sources.steps.install}</summary>
        <p className="field-hint">{t.sources.steps.installDetail}</p>
        <Command name="install" />
      </details>
      <TextField
        label={t.sources.code}
        hint={t.sources.codeHint}
        error={isWrong ? t.sources.codeWrong : undefined}
        className="input-code"
        autoComplete="off"
        autoCapitalize="characters"
        spellCheck={false}
        required
        maxLength={20}
        value={text}
        onText={setText}
      />
      <p className="field-hint">{t.sources.approveNote}</p>
      <div className="dialog-actions">
        <Button look="primary" type="submit">
          {t.sources.approve}
        </Button>
      </div>
    </form>
  );
}

function Waiting({ code, onAgain }: { readonly code: string; readonly onAgain: () => void }) {
  return (
    <div className="connect-form">
      <p className="connect-state" role="status">
        <Glyph status="running" size={20} /> <strong>{t.sources.waiting(code)}</strong>
      </p>
      <p className="lead">{t.sources.waitingDetail}</p>
      <div className="dialog-actions">
        <Button onClick={onAgain}>{t.sources.again}</Button>
        <a className="button button-plain button-normal" href={approvalAddress(code)} target="_blank" rel="noopener">
          {t.sources.approve}
        </a>
      </div>
    </div>
  );
}

interface ConnectedProps {
  readonly agent: Agent;
  readonly isReady: boolean;
  readonly onReady: () => void;
  readonly onClose: () => void;
}

function Connected({ agent, isReady, onReady, onClose }: ConnectedProps) {
  const { whyNot } = useRights();
  const vaults = useQuery(vaultsQuery);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(agent.vaults));
  const [given, setGiven] = useState(0);
  const work = useMutation({
    mutationFn: () => changeVaults(agent, [...chosen], setGiven),
    onSuccess: onReady,
    onSettled: () => queries.invalidateQueries({ queryKey: ["agents"] }),
  });
  return (
    <div className="connect-form">
      <p className="connect-state" role="status">
        <Glyph status="ok" size={20} />{" "}
        <strong>
          <ShownName name={t.sources.connected(agent.name)} />
        </strong>
      </p>
      {isReady ? (
        <>
          <p className="lead">{t.sources.ready}</p>
          <Command name="backup" />
          <Command name="schedule" />
          <div className="dialog-actions">
            <Button look="primary" onClick={onClose}>
              {t.close}
            </Button>
          </div>
        </>
      ) : (
        <>
          <p className="lead">{t.sources.connectedDetail}</p>
          <QueryView query={vaults} lines={6}>
            {(list) => (
              <VaultPicker label={t.sources.changeVaults} vaults={list} chosen={chosen} onChosen={setChosen} />
            )}
          </QueryView>
          <FormError text={actMessage(work.error)} />
          {work.isPending && given > 0 && (
            <p className="lead" role="status">
              {t.sources.vaultsProgress(given, chosen.size)}
            </p>
          )}
          <div className="dialog-actions">
            <Button onClick={onReady}>{t.sources.later}</Button>
            <Button
              look="primary"
              busy={work.isPending}
              unavailable={whyNot("account:write")}
              onClick={() => work.mutate()}
            >
              {t.sources.giveVaults}
            </Button>
          </div>
        </>
      )}
    </div>
  );
}
