/** Acts that could remove something: each waits 72 hours, in which any owner cancels it. */

import type { PendingAct, Vault } from "@emanet/client/source";
import { useQuery } from "@tanstack/react-query";
import { Hourglass } from "lucide-react";
import { useState } from "react";
import { useAct } from "../api/act.ts";
import { client } from "../api/client.ts";
import { pendingActsQuery } from "../api/retention-queries.ts";
import { useRights } from "../api/rights.ts";
import { membersQuery } from "../api/settings-queries.ts";
import { dayAndTime } from "../format.ts";
import { ActError } from "../parts/act-dialogs.tsx";
import { Button } from "../parts/button.tsx";
import { ShownName } from "../parts/shown-name.tsx";
import { Count, QueryView } from "../parts/states.tsx";
import { t } from "../strings/index.ts";
import { r } from "../strings/retention.ts";

export function PendingActs({ vaults }: { readonly vaults: readonly Vault[] }) {
  const acts = useQuery(pendingActsQuery);
  const [note, setNote] = useState("");
  return (
    <section className="card" aria-labelledby="acts-title">
      <header className="card-header">
        <h2 id="acts-title">
          {r.acts} {acts.data !== undefined && acts.data.length > 0 && <Count of={acts.data.length} />}
        </h2>
      </header>
      <p className="settings-note" role="status">
        {note}
      </p>
      <QueryView query={acts} lines={2}>
        {(list) =>
          list.length === 0 ? (
            <p className="card-empty">{r.noActs}</p>
          ) : (
            <ul className="rows">
              {list.map((act) => (
                <Item
                  key={act.id}
                  act={act}
                  vault={vaults.find(({ id }) => id === act.vault_id)}
                  onCanceled={() => setNote(r.canceled)}
                />
              ))}
            </ul>
          )
        }
      </QueryView>
    </section>
  );
}

interface ItemProps {
  readonly act: PendingAct;
  readonly vault: Vault | undefined;
  readonly onCanceled: () => void;
}

function Item({ act, vault, onCanceled }: ItemProps) {
  const { role } = useRights();
  const { data: members = [] } = useQuery(membersQuery);
  const by = members.find(({ id }) => id === act.created_by)?.full_name;
  const cancel = useAct((_: undefined, options) => client.pendingActs.cancel({ id: act.id }, options), {
    changes: ["pending-acts", "retention", "vaults", "taxpayers", "sources", "snapshots", "account"],
    onDone: onCanceled,
  });
  // Canceling removes nothing, so it also works in a suspended account.
  const notOwner = role === "owner" ? undefined : t.states.noPermission(t.roles.owner ?? "");
  const kind = r.actKinds[act.kind] ?? act.kind;
  return (
    <li className="row">
      <Hourglass size={16} aria-hidden="true" className="act-icon" />
      <div>
        <strong>{kind}</strong>
        <span>
          {vault !== undefined && <ShownName name={vault.name} />} · {r.actDue(dayAndTime(act.due_at))}
        </span>
        {by !== undefined && (
          <span>
            <ShownName name={r.actBy(by)} />
          </span>
        )}
        <ActError error={cancel.error} />
      </div>
      <Button
        size="small"
        aria-label={`${kind}: ${r.cancelAct}`}
        unavailable={notOwner}
        busy={cancel.isPending}
        onClick={() => cancel.mutate(undefined)}
      >
        {r.cancelAct}
      </Button>
    </li>
  );
}
