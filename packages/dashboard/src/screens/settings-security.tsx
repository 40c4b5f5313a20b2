/** The security of the sign-in: password, authenticator, recovery codes, phone, SMS, sessions. */

import type { Me, RecoveryCodes } from "@emanet/client/source";
import { useQuery } from "@tanstack/react-query";
import { KeyRound, LifeBuoy, MessageSquare, Phone, ShieldCheck, Smartphone } from "lucide-react";
import { type ReactNode, useState } from "react";
import { unkeyed, useAct } from "../api/act.ts";
import { client } from "../api/client.ts";
import { accountQuery, meQuery } from "../api/queries.ts";
import { useRights } from "../api/rights.ts";
import { ActError, ConfirmDialog } from "../parts/act-dialogs.tsx";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { CopyButton, QueryView } from "../parts/states.tsx";
import { t } from "../strings/index.ts";
import { s } from "../strings/settings.ts";
import { ChangePassword, ChangePhone, RenewTotp } from "./settings-factors.tsx";
import { useOwnersOnly } from "./settings-package.tsx";
import { Sessions } from "./settings-sessions.tsx";

/** Fewer than these are soon none. */
const fewCodes = 3;

type Opened = "password" | "totp" | "recovery" | "phone" | null;

export function SecuritySettings() {
  const { may } = useRights();
  const [opened, setOpened] = useState<Opened>(null);
  const [codes, setCodes] = useState<RecoveryCodes | null>(null);
  const [done, setDone] = useState("");
  const finish = (text: string) => {
    setOpened(null);
    setDone(text);
  };
  const show = (shown: RecoveryCodes) => {
    setOpened(null);
    setCodes(shown);
  };
  return (
    <>
      <QueryView query={useQuery(meQuery)} lines={8}>
        {(me) => (
          <section className="card" aria-labelledby="security-title">
            <header className="settings-answer">
              <span className="chain-icon">
                <ShieldCheck size={20} aria-hidden="true" />
              </span>
              <div>
                <h2 id="security-title">{s.security.answer}</h2>
                <p role="status">{done}</p>
                {me.recovery_codes_left < fewCodes && <p className="settings-warning">{s.security.codesLow}</p>}
              </div>
            </header>
            <ul className="rows">
              <Factors me={me} onOpen={setOpened} />
              {may("account:read") && <SmsRow />}
            </ul>
          </section>
        )}
      </QueryView>
      <Sessions />
      {opened === "password" && (
        <ChangePassword onClose={() => setOpened(null)} onDone={() => finish(s.security.passwordDone)} />
      )}
      {opened === "phone" && (
        <ChangePhone onClose={() => setOpened(null)} onDone={() => finish(s.security.phoneDone)} />
      )}
      {opened === "totp" && <RenewTotp onClose={() => setOpened(null)} onDone={show} />}
      {opened === "recovery" && <RenewCodes onClose={() => setOpened(null)} onDone={show} />}
      {codes !== null && <CodesDialog codes={codes.recovery_codes} onClose={() => setCodes(null)} />}
    </>
  );
}

interface FactorsProps {
  readonly me: Me;
  readonly onOpen: (opened: Opened) => void;
}

function Factors({ me, onOpen }: FactorsProps) {
  const phone = me.phone === null ? s.security.phoneNone : me.phone;
  return (
    <>
      <Factor Icon={KeyRound} name={s.security.password} detail={s.security.passwordDetail}>
        <FactorButton of={s.security.password} text={s.security.change} onClick={() => onOpen("password")} />
      </Factor>
      <Factor Icon={Smartphone} name={s.security.totp} detail={s.security.totpDetail}>
        <FactorButton of={s.security.totp} text={s.security.totpRenew} onClick={() => onOpen("totp")} />
      </Factor>
      <Factor Icon={LifeBuoy} name={s.security.recovery} detail={s.security.recoveryLeft(me.recovery_codes_left)}>
        <FactorButton of={s.security.recovery} text={s.security.recoveryRenew} onClick={() => onOpen("recovery")} />
      </Factor>
      <Factor
        Icon={Phone}
        name={s.security.phone}
        detail={me.phone === null || me.phone_verified ? phone : `${phone}, ${s.security.phoneUnverified}`}
      >
        <FactorButton of={s.security.phone} text={s.security.change} onClick={() => onOpen("phone")} />
      </Factor>
    </>
  );
}

interface FactorProps {
  readonly Icon: typeof KeyRound;
  readonly name: string;
  readonly detail: string;
  readonly children: ReactNode;
}

function Factor({ Icon, name, detail, children }: FactorProps) {
  return (
    <li className="row">
      <span className="actor-icon">
        <Icon size={14} aria-hidden="true" />
      </span>
      <div>
        <strong>{name}</strong>
        <span>{detail}</span>
      </div>
      {children}
    </li>
  );
}

interface FactorButtonProps {
  readonly of: string;
  readonly text: string;
  readonly onClick: () => void;
}

/** Several buttons say the same; readers hear what each is for. */
function FactorButton({ of, text, onClick }: FactorButtonProps) {
  return (
    <Button size="small" aria-label={`${of}: ${text}`} onClick={onClick}>
      {text}
    </Button>
  );
}

/** A setting of the account: whether codes by SMS open it. */
function SmsRow() {
  const { data: account } = useQuery(accountQuery);
  const why = useOwnersOnly();
  const change = useAct(
    (isOn: boolean, options) => client.account.update({ body: { sms_sign_in: isOn } }, unkeyed(options)),
    { changes: ["account"] },
  );
  if (account === undefined) return null;
  const isOn = account.sms_sign_in;
  return (
    <>
      <Factor Icon={MessageSquare} name={s.security.sms} detail={s.security.smsDetail}>
        <span className={isOn ? "tag tag-late" : "tag tag-ok"}>{isOn ? s.security.smsOn : s.security.smsOff}</span>
        <Button
          size="small"
          aria-label={`${s.security.sms}: ${isOn ? s.security.turnOff : s.security.turnOn}`}
          unavailable={why}
          busy={change.isPending}
          onClick={() => change.mutate(!isOn)}
        >
          {isOn ? s.security.turnOff : s.security.turnOn}
        </Button>
      </Factor>
      <ActError error={change.error} />
    </>
  );
}

interface CodesProps {
  readonly onClose: () => void;
  readonly onDone: (codes: RecoveryCodes) => void;
}

function RenewCodes({ onClose, onDone }: CodesProps) {
  const work = useAct((_: undefined, options) => client.me.renewRecoveryCodes({}, unkeyed(options)), {
    changes: ["me"],
    onDone,
  });
  return (
    <ConfirmDialog
      title={s.security.recoveryAsk}
      detail={s.security.recoveryAskDetail}
      confirm={s.security.recoveryRenew}
      work={{ ...work, mutate: () => work.mutate(undefined) }}
      onClose={onClose}
    />
  );
}

function CodesDialog({ codes, onClose }: { readonly codes: readonly string[]; readonly onClose: () => void }) {
  return (
    <Dialog title={s.security.recoveryShown} className="dialog-narrow" onClose={onClose}>
      <div className="dialog-body">
        <p>{s.security.recoveryKeep}</p>
        <ul className="recovery-codes">
          {codes.map((code) => (
            <li key={code}>
              <code>{code}</code>
            </li>
          ))}
        </ul>
        <div className="dialog-actions">
          <CopyButton text={codes.join("\n")} label={s.security.recoveryCopy} />
          <Button look="primary" onClick={onClose}>
            {t.close}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
