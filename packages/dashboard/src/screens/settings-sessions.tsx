/** The sessions of this person, and ending them. */

import type { Session } from "@emanet/client/source";
import { useQuery } from "@tanstack/react-query";
import { Cpu, KeyRound, Monitor } from "lucide-react";
import { useState } from "react";
import { unkeyed, useAct } from "../api/act.ts";
import { client } from "../api/client.ts";
import { forgetSession } from "../api/session.ts";
import { sessionsQuery } from "../api/settings-queries.ts";
import { lower, recently } from "../format.ts";
import { ActError, ConfirmDialog } from "../parts/act-dialogs.tsx";
import { Button } from "../parts/button.tsx";
import { Count, QueryView } from "../parts/states.tsx";
import { s } from "../strings/settings.ts";

export function Sessions() {
  const sessions = useQuery(sessionsQuery);
  const [isAsked, setAsked] = useState(false);
  const others = sessions.data?.filter(({ current }) => !current) ?? [];
  return (
    <section className="card" aria-labelledby="sessions-title">
      <header className="card-header">
        <h2 id="sessions-title">
          {s.security.sessions} {sessions.data !== undefined && <Count of={sessions.data.length} />}
        </h2>
        {others.length > 0 && (
          <Button size="small" look="danger" onClick={() => setAsked(true)}>
            {s.security.othersEnd}
          </Button>
        )}
      </header>
      <QueryView query={sessions} lines={3}>
        {(list) => (
          <ul className="rows">
            {list.map((session) => (
              <Item key={session.id} session={session} />
            ))}
          </ul>
        )}
      </QueryView>
      {isAsked && <EndOthers list={others} onClose={() => setAsked(false)} />}
    </section>
  );
}

function Item({ session }: { readonly session: Session }) {
  const { id, kind, current, created_at: since, last_used_at: used } = session;
  const end = useAct((_: undefined, options) => client.sessions.end({ id }, unkeyed(options)), {
    changes: current ? [] : ["sessions"],
    onDone: () => current && forgetSession(),
  });
  const name = s.security.sessionKinds[kind] ?? kind;
  return (
    <li className="row">
      <span className="actor-icon">
        <KindIcon kind={kind} />
      </span>
      <div>
        <strong>{name}</strong>
        <span>{s.security.sessionUsed(lower(recently(since)), lower(recently(used)))}</span>
        <ActError error={end.error} />
      </div>
      {current && <span className="tag tag-ok">{s.security.thisSession}</span>}
      <Button
        size="small"
        look="danger"
        aria-label={`${name}: ${s.security.sessionEnd}`}
        busy={end.isPending}
        onClick={() => end.mutate(undefined)}
      >
        {s.security.sessionEnd}
      </Button>
    </li>
  );
}

function KindIcon({ kind }: { readonly kind: string }) {
  if (kind === "api") return <KeyRound size={14} aria-hidden="true" />;
  return kind === "agent" ? <Cpu size={14} aria-hidden="true" /> : <Monitor size={14} aria-hidden="true" />;
}

function EndOthers({ list, onClose }: { readonly list: readonly Session[]; readonly onClose: () => void }) {
  const work = useAct(
    async (_: undefined, options) => {
      for (const { id } of list) await client.sessions.end({ id }, unkeyed(options));
    },
    { changes: ["sessions"], onDone: onClose },
  );
  return (
    <ConfirmDialog
      title={s.security.othersAsk}
      detail={s.security.othersDetail}
      confirm={s.security.othersEnd}
      isDanger
      work={{ ...work, mutate: () => work.mutate(undefined) }}
      onClose={onClose}
    />
  );
}
