/** The customers' accounts, and what staff change in them. */

import type { Account } from "@emanet/client/source";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Building2 } from "lucide-react";
import { useState } from "react";
import { accountsQuery } from "../api/staff-queries.ts";
import { day } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { MoreButton } from "../parts/more-button.tsx";
import { Segments } from "../parts/segments.tsx";
import { ShownName, visibleName } from "../parts/shown-name.tsx";
import { CopyButton, Empty, QueryView } from "../parts/states.tsx";
import { t } from "../strings/index.ts";
import { f } from "../strings/staff.ts";
import { type AccountAct, AccountActDialog } from "./staff-account-acts.tsx";
import { StaffList } from "./staff-list.tsx";

type Shown = "all" | "active" | "suspended";

export function StaffAccounts() {
  const [shown, setShown] = useState<Shown>("all");
  const accounts = useInfiniteQuery(accountsQuery(shown === "all" ? null : shown));
  return (
    <>
      <div className="filter-bar">
        <Segments
          label={f.account.state}
          value={shown}
          onValue={setShown}
          options={[
            { value: "all", text: f.all },
            { value: "active", text: f.account.states.active },
            { value: "suspended", text: f.account.states.suspended },
          ]}
        />
      </div>
      <QueryView query={accounts} lines={8}>
        {({ pages }) => {
          const list = pages.flatMap(({ data }) => data);
          return list.length === 0 ? (
            <Empty icon={<Building2 size={28} aria-hidden="true" />} title={f.nothing} />
          ) : (
            <StaffList
              label={f.accounts}
              list={list}
              item={(account) => (
                <>
                  <strong>
                    <ShownName name={account.name} />
                  </strong>
                  <span>{t.packages[account.package] ?? account.package}</span>
                  <StateTag state={account.state} />
                </>
              )}
              detail={(account) => <Detail account={account} />}
            />
          );
        }}
      </QueryView>
      <MoreButton query={accounts} />
    </>
  );
}

function StateTag({ state }: { readonly state: string }) {
  const look = state === "active" ? "tag-ok" : state === "suspended" ? "tag-late" : "";
  return <span className={`tag ${look}`}>{f.account.states[state] ?? state}</span>;
}

function Detail({ account }: { readonly account: Account }) {
  const [act, setAct] = useState<AccountAct | null>(null);
  const words = f.account;
  return (
    <section className="card details staff-detail" aria-label={visibleName(account.name)}>
      <h2>
        <ShownName name={account.name} /> <StateTag state={account.state} />
      </h2>
      <dl>
        <dt>{words.id}</dt>
        <dd>
          <code>{account.id}</code> <CopyButton text={account.id} />
        </dd>
        <dt>{words.kind}</dt>
        <dd>{words.kinds[account.kind] ?? account.kind}</dd>
        <dt>{words.taxId}</dt>
        <dd>{account.tax_id}</dd>
        <dt>{words.package}</dt>
        <dd>{t.packages[account.package] ?? account.package}</dd>
        <dt>{words.early}</dt>
        <dd>{account.early_access ? words.on : words.off}</dd>
        <dt>{words.since}</dt>
        <dd>{day(account.created_at)}</dd>
      </dl>
      <div className="staff-actions">
        <Button onClick={() => setAct("package")}>{words.setPackage}</Button>
        <Button onClick={() => setAct("limit")}>{words.setLimit}</Button>
        <Button onClick={() => setAct("reset-limit")}>{words.resetLimit}</Button>
        <Button onClick={() => setAct("api")}>{words.setApi}</Button>
        <Button onClick={() => setAct("early")}>{account.early_access ? words.earlyOff : words.earlyOn}</Button>
        {account.state === "suspended" ? (
          <Button look="primary" onClick={() => setAct("resume")}>
            {words.resume}
          </Button>
        ) : (
          <Button look="danger" onClick={() => setAct("suspend")}>
            {words.suspend}
          </Button>
        )}
      </div>
      {act !== null && <AccountActDialog account={account} act={act} onClose={() => setAct(null)} />}
    </section>
  );
}
