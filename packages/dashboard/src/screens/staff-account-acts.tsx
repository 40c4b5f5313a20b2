/** The changes that staff make to an account, each with its reason. */

import type { Account } from "@emanet/client/source";
import { type ReactNode, useState } from "react";
import { client } from "../api/client.ts";
import { Choice } from "../parts/choice.tsx";
import { ReasonDialog } from "../parts/reason-dialog.tsx";
import { t } from "../strings/index.ts";
import { f } from "../strings/staff.ts";
import { NumberField, type Policy, PolicyField } from "./settings-ask-limit.tsx";

export type AccountAct = "suspend" | "resume" | "package" | "limit" | "reset-limit" | "early" | "api";

interface ActProps {
  readonly account: Account;
  readonly onClose: () => void;
}

const dialogs: Readonly<Record<AccountAct, (props: ActProps) => ReactNode>> = {
  suspend: Suspend,
  resume: Resume,
  package: SetPackage,
  limit: SetLimit,
  "reset-limit": ResetLimit,
  early: SetEarly,
  api: SetApi,
};

export function AccountActDialog({ act, ...props }: ActProps & { readonly act: AccountAct }) {
  const Act = dialogs[act];
  return <Act {...props} />;
}

const causes = ["unpaid", "abuse", "security", "request", "other"] as const;

function Suspend({ account: { id }, onClose }: ActProps) {
  const [cause, setCause] = useState<(typeof causes)[number]>("unpaid");
  return (
    <ReasonDialog
      title={f.account.suspend}
      detail={f.account.suspendDetail}
      act={(reason, options) => client.admin.suspendAccount({ id, body: { cause, reason } }, options)}
      onClose={onClose}
    >
      <Choice label={f.account.cause} values={causes} texts={f.account.causes} value={cause} onValue={setCause} />
    </ReasonDialog>
  );
}

function Resume({ account: { id }, onClose }: ActProps) {
  return (
    <ReasonDialog
      title={f.account.resume}
      detail={f.account.resumeDetail}
      act={(reason, options) => client.admin.resumeAccount({ id, body: { reason } }, options)}
      onClose={onClose}
    />
  );
}

const packages = ["starter", "professional", "accountant", "corporate"] as const;

function SetPackage({ account, onClose }: ActProps) {
  const [chosen, setChosen] = useState(packages.find((one) => one === account.package) ?? "starter");
  return (
    <ReasonDialog
      title={f.account.setPackage}
      detail={f.account.packageDetail}
      act={(reason, options) => client.admin.setPackage({ id: account.id, body: { package: chosen, reason } }, options)}
      onClose={onClose}
    >
      <Choice label={f.account.package} values={packages} texts={t.packages} value={chosen} onValue={setChosen} />
    </ReasonDialog>
  );
}

function SetLimit({ account: { id }, onClose }: ActProps) {
  const [policy, setPolicy] = useState<Policy>("package");
  const [limit, setLimit] = useState(1000);
  const [window, setWindow] = useState(60);
  return (
    <ReasonDialog
      title={f.account.setLimit}
      detail={f.account.limitDetail}
      act={(reason, options) =>
        client.admin.setAccountLimit({ id, body: { policy, limit, window_s: window, reason } }, options)
      }
      onClose={onClose}
    >
      <PolicyField value={policy} onValue={setPolicy} />
      <LimitNumbers limit={limit} onLimit={setLimit} window={window} onWindow={setWindow} />
    </ReasonDialog>
  );
}

interface LimitNumbersProps {
  readonly limit: number;
  readonly onLimit: (value: number) => void;
  readonly window: number;
  readonly onWindow: (value: number) => void;
}

function LimitNumbers({ limit, onLimit, window, onWindow }: LimitNumbersProps) {
  return (
    <>
      <NumberField of="amount" value={limit} onValue={onLimit} />
      <NumberField of="window" value={window} onValue={onWindow} />
    </>
  );
}

function ResetLimit({ account: { id }, onClose }: ActProps) {
  const [policy, setPolicy] = useState<Policy>("package");
  return (
    <ReasonDialog
      title={f.account.resetLimit}
      detail={f.account.resetLimitDetail}
      act={(reason, options) => client.admin.resetAccountLimit({ id, body: { policy, reason } }, options)}
      onClose={onClose}
    >
      <PolicyField value={policy} onValue={setPolicy} />
    </ReasonDialog>
  );
}

function SetEarly({ account: { id, early_access: isOn }, onClose }: ActProps) {
  return (
    <ReasonDialog
      title={isOn ? f.account.earlyOff : f.account.earlyOn}
      detail={f.account.earlyDetail}
      act={(reason, options) => client.admin.setEarlyAccess({ id, body: { early_access: !isOn, reason } }, options)}
      onClose={onClose}
    />
  );
}

const apiChoices = ["package", "on", "off"] as const;
const apiValues = { package: null, on: true, off: false } as const;

/** The entitlement to the API: by the package, or decided for this account. */
function SetApi({ account: { id }, onClose }: ActProps) {
  const [chosen, setChosen] = useState<(typeof apiChoices)[number]>("package");
  const body = { entitlement: "api", enabled: apiValues[chosen] } as const;
  return (
    <ReasonDialog
      title={f.account.setApi}
      detail={f.account.apiDetail}
      act={(reason, options) => client.admin.setEntitlement({ id, body: { ...body, reason } }, options)}
      onClose={onClose}
    >
      <Choice label={f.account.api} values={apiChoices} texts={f.account.apis} value={chosen} onValue={setChosen} />
    </ReasonDialog>
  );
}
