/** Where the files go: this computer as an archive, or a machine that runs the agent. Then the restore is watched. */

import type { Agent, NewRestoreTarget, Snapshot } from "@emanet/client/source";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Download, Monitor, RotateCcw } from "lucide-react";
import { type ReactNode, useState } from "react";
import { client, queries } from "../api/client.ts";
import { agentsQuery } from "../api/queries.ts";
import { NotConfirmed, perform } from "../api/step-up.ts";
import { clock, longDay } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field, FormError } from "../parts/field.tsx";
import { Glyph } from "../parts/glyph.tsx";
import { Segments } from "../parts/segments.tsx";
import { ShownName } from "../parts/shown-name.tsx";
import { errorText } from "../parts/states.tsx";
import { t } from "../strings/index.ts";

type Conflict = "rename" | "skip" | "overwrite";

interface Choice {
  readonly kind: "download" | "agent";
  readonly agentId: string;
  readonly folder: string;
  readonly conflict: Conflict;
}

function targetOf({ kind, agentId, folder, conflict }: Choice): NewRestoreTarget {
  if (kind === "download") return { kind, format: "zip" };
  return { kind, agent_id: agentId, on_conflict: conflict, ...(folder !== "" && { path: folder }) };
}

interface RestoreDialogProps {
  readonly snapshot: Snapshot;
  /** Null: everything. */
  readonly paths: readonly string[] | null;
  readonly onClose: () => void;
}

export function RestoreDialog({ snapshot, paths, onClose }: RestoreDialogProps) {
  const { data: agents = [] } = useQuery(agentsQuery);
  const navigate = useNavigate();
  const [choice, setChoice] = useState<Choice>({ kind: "download", agentId: "", folder: "", conflict: "rename" });
  const agent = agents.find(({ id }) => id === choice.agentId) ?? agents[0];
  const creation = useMutation({
    mutationFn: () =>
      perform((options) =>
        client.restores.create(
          {
            body: {
              snapshot_id: snapshot.id,
              target: targetOf({ ...choice, agentId: agent?.id ?? "" }),
              ...(paths !== null && { paths }),
            },
          },
          options,
        ),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["restores"] });
      onClose();
      await navigate({ to: "/app/restores" });
    },
  });
  const failure = creation.error === null || creation.error instanceof NotConfirmed ? null : errorText(creation.error);
  return (
    <Dialog title={t.restore.where} className="dialog-wide" onClose={onClose}>
      <div className="restore">
        <div className="restore-choices">
          <p className="lead">{t.restore.whereDetail}</p>
          <FormError text={failure === null ? null : [failure.title, failure.detail].filter(Boolean).join(". ")} />
          <Option
            icon={<Download size={17} aria-hidden="true" />}
            title={t.restore.toHere}
            detail={t.restore.toHereDetail}
            isChosen={choice.kind === "download"}
            onChoose={() => setChoice({ ...choice, kind: "download" })}
          />
          <Option
            icon={<Monitor size={17} aria-hidden="true" />}
            title={t.restore.toDevice}
            detail={agents.length === 0 ? t.restore.noDevices : t.restore.toDeviceDetail}
            isChosen={choice.kind === "agent"}
            isOff={agents.length === 0}
            onChoose={() => setChoice({ ...choice, kind: "agent" })}
          >
            {agent !== undefined && <Device agents={agents} agent={agent} choice={choice} onChoice={setChoice} />}
          </Option>
        </div>
        <Summary snapshot={snapshot} paths={paths} />
      </div>
      <div className="dialog-actions restore-actions">
        <Button onClick={onClose}>{t.cancel}</Button>
        <Button
          look="primary"
          icon={<RotateCcw size={15} aria-hidden="true" />}
          busy={creation.isPending}
          onClick={() => creation.mutate()}
        >
          {paths === null ? t.restore.submitAll : t.restore.submit(paths.length)}
        </Button>
      </div>
    </Dialog>
  );
}

interface OptionProps {
  readonly icon: ReactNode;
  readonly title: string;
  readonly detail: string;
  readonly isChosen: boolean;
  readonly isOff?: boolean;
  readonly onChoose: () => void;
  readonly children?: ReactNode;
}

function Option({ icon, title, detail, isChosen, isOff = false, onChoose, children }: OptionProps) {
  return (
    <div className={isChosen ? "option option-chosen" : "option"}>
      <label className="option-head">
        <input type="radio" name="target" checked={isChosen} disabled={isOff} onChange={onChoose} />
        <span className="option-icon">{icon}</span>
        <span className="option-text">
          <strong>{title}</strong>
          <span>{detail}</span>
        </span>
      </label>
      {isChosen && children !== undefined && <div className="option-body">{children}</div>}
    </div>
  );
}

interface DeviceProps {
  readonly agents: readonly Agent[];
  readonly agent: Agent;
  readonly choice: Choice;
  readonly onChoice: (choice: Choice) => void;
}

function Device({ agents, agent, choice, onChoice }: DeviceProps) {
  const conflicts = [
    { value: "rename", text: t.restore.rename },
    { value: "skip", text: t.restore.skip },
    { value: "overwrite", text: t.restore.overwrite, disabled: !agent.allow_overwrite },
  ] as const;
  return (
    <>
      <Field label={t.restore.device}>
        {(ids) => (
          <select
            {...ids}
            className="input"
            value={agent.id}
            onChange={(event) => onChoice({ ...choice, agentId: event.target.value, conflict: "rename" })}
          >
            {agents.map(({ id, name, online }) => (
              <option key={id} value={id}>
                {name} ({online ? t.restore.online : t.restore.offline})
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label={t.restore.folder} hint={t.restore.folderHint}>
        {(ids) => (
          <input
            {...ids}
            className="input"
            maxLength={4096}
            value={choice.folder}
            placeholder={agent.roots[0] ?? ""}
            onChange={(event) => onChoice({ ...choice, folder: event.target.value })}
          />
        )}
      </Field>
      <div className="field">
        <span className="field-label">{t.restore.conflict}</span>
        <Segments
          label={t.restore.conflict}
          value={choice.conflict}
          options={conflicts}
          onValue={(conflict) => onChoice({ ...choice, conflict })}
        />
        {!agent.allow_overwrite && <p className="field-hint">{t.restore.noOverwrite}</p>}
      </div>
    </>
  );
}

/** As many as a person reads at a glance. */
const maxPaths = 6;

function Summary({ snapshot, paths }: Pick<RestoreDialogProps, "snapshot" | "paths">) {
  return (
    <aside className="restore-summary" aria-label={t.restore.summary}>
      <div className="card restore-what">
        <strong>
          <ShownName name={snapshot.source.name} />
        </strong>
        <span>
          {longDay(snapshot.created_at)}, {clock(snapshot.created_at)}
        </span>
        <ul>
          {paths === null ? (
            <li>{t.restore.everything}</li>
          ) : (
            paths.slice(0, maxPaths).map((path) => (
              <li key={path}>
                <ShownName name={path.slice(path.lastIndexOf("/") + 1)} />
              </li>
            ))
          )}
          {paths !== null && paths.length > maxPaths && <li>{t.restore.more(paths.length - maxPaths)}</li>}
        </ul>
      </div>
      <ul className="restore-promises">
        {[t.restore.promise1, t.restore.promise2, t.restore.promise3].map((text) => (
          <li key={text}>
            <Glyph status="ok" size={15} /> {text}
          </li>
        ))}
      </ul>
    </aside>
  );
}
