/** Shares of the audit trail: the token is shown once, every read is a record, revoking ends it at once. */

import type { AuditShare, NewAuditShare } from "@emanet/client/source";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Eye } from "lucide-react";
import { type FormEvent, useState } from "react";
import { client, queries } from "../api/client.ts";
import { auditSharesQuery, shareReadsQuery, sinceDays } from "../api/queries.ts";
import { perform } from "../api/step-up.ts";
import { day, dayAndTime } from "../format.ts";
import { actMessage, ConfirmDialog, DialogButtons, SecretDialog } from "../parts/act-dialogs.tsx";
import { Button } from "../parts/button.tsx";
import { Check } from "../parts/check.tsx";
import { Choice } from "../parts/choice.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field, FormError } from "../parts/field.tsx";
import { ShownName, visibleName } from "../parts/shown-name.tsx";
import { QueryView } from "../parts/states.tsx";
import { TextField } from "../parts/text-field.tsx";
import { t } from "../strings/index.ts";

export function Shares({ mayChange }: { readonly mayChange: boolean }) {
  const shares = useQuery(auditSharesQuery);
  const [asked, setAsked] = useState<AuditShare | null>(null);
  return (
    <section className="card side-card" aria-labelledby="shares-title">
      <h2 id="shares-title">{t.audit.shares}</h2>
      <QueryView query={shares} lines={3}>
        {(list) =>
          list.length === 0 ? (
            <p className="lead">{t.audit.noShares}</p>
          ) : (
            <ul>
              {list.map((share) => (
                <li key={share.id} className="share">
                  <strong>
                    <ShownName name={share.label} />
                  </strong>
                  <ShareTag status={share.status} />
                  <span>{t.audit.until(day(share.expires_at))}</span>
                  <Reads share={share} />
                  {share.status === "active" && mayChange && (
                    <Button size="small" look="danger" onClick={() => setAsked(share)}>
                      {t.audit.revoke}
                    </Button>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </QueryView>
      <p className="shares-note">
        <Eye size={14} aria-hidden="true" /> {t.audit.sharesNote}
      </p>
      {asked !== null && <RevokeDialog share={asked} onClose={() => setAsked(null)} />}
    </section>
  );
}

/** As many as a person reads at a glance; the records have all. */
const maxReads = 5;

/** When the share was read, from the audit trail itself. */
function Reads({ share: { id, label } }: { readonly share: AuditShare }) {
  const [isOpen, setOpen] = useState(false);
  const reads = useQuery({ ...shareReadsQuery(id, maxReads), enabled: isOpen });
  return (
    <>
      <button
        type="button"
        className="text-button quiet"
        aria-expanded={isOpen}
        aria-label={`${visibleName(label)}: ${t.audit.reads}`}
        onClick={() => setOpen(!isOpen)}
      >
        {t.audit.reads}
      </button>
      {isOpen && (
        <QueryView query={reads} lines={2}>
          {(list) =>
            list.length === 0 ? (
              <p className="lead">{t.audit.noReads}</p>
            ) : (
              <ul className="share-reads">
                {list.map((record) => (
                  <li key={record.id}>
                    <code>{record.action}</code> {dayAndTime(record.occurred_at)}
                  </li>
                ))}
              </ul>
            )
          }
        </QueryView>
      )}
    </>
  );
}

function ShareTag({ status }: { readonly status: string }) {
  if (status === "active") return <span className="tag tag-ok">{t.audit.active}</span>;
  return <span className="tag">{status === "revoked" ? t.audit.revoked : t.audit.expired}</span>;
}

function RevokeDialog({ share, onClose }: { readonly share: AuditShare; readonly onClose: () => void }) {
  const work = useMutation({
    mutationFn: () =>
      perform(({ idempotencyKey: _key, ...options }) => client.auditShares.revoke({ id: share.id }, options)),
    onSuccess: async () => {
      onClose();
      await queries.invalidateQueries({ queryKey: ["audit"] });
    },
  });
  const title = t.audit.revokeAsk(visibleName(share.label));
  const texts = { title, detail: t.audit.revokeDetail, confirm: t.audit.revoke };
  return <ConfirmDialog {...texts} isDanger work={work} onClose={onClose} />;
}

/** The service's longest share. */
const maxDays = 90;

const periods = ["", "7", "30", "90"] as const;
const outcomes = ["", "failure"] as const;

export function NewShare({ onClose }: { readonly onClose: () => void }) {
  const [label, setLabel] = useState("");
  const [days, setDays] = useState(30);
  const [period, setPeriod] = useState<(typeof periods)[number]>("");
  const [outcome, setOutcome] = useState<(typeof outcomes)[number]>("");
  const [showsPersons, setShowsPersons] = useState(false);
  const filter = {
    ...(period !== "" && { from: sinceDays(Number(period)) }),
    ...(outcome !== "" && { outcome }),
  };
  const work = useMutation({
    mutationFn: (): Promise<NewAuditShare> =>
      perform((options) =>
        client.auditShares.create({ body: { label, days, filter, show_persons: showsPersons } }, options),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["audit"] }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    work.mutate();
  };
  if (work.data !== undefined) {
    const { shareToken, shareTokenDetail } = t.audit;
    return <SecretDialog title={shareToken} detail={shareTokenDetail} secret={work.data.token} onClose={onClose} />;
  }
  return (
    <Dialog title={t.audit.share} className="dialog-narrow" onClose={onClose}>
      <form className="dialog-body" onSubmit={submit}>
        <FormError text={actMessage(work.error)} />
        <TextField label={t.audit.shareLabel} required maxLength={100} value={label} onText={setLabel} />
        <Field label={t.audit.shareDays}>
          {(ids) => (
            <input
              {...ids}
              className="input"
              type="number"
              required
              min={1}
              max={maxDays}
              value={days}
              onChange={(event) => setDays(event.target.valueAsNumber)}
            />
          )}
        </Field>
        <Choice
          label={t.audit.range}
          texts={{ "": t.audit.all, "7": t.audit.days7, "30": t.audit.days30, "90": t.audit.days90 }}
          values={periods}
          value={period}
          onValue={setPeriod}
        />
        <Choice
          label={t.audit.outcome}
          texts={{ "": t.audit.all, failure: t.audit.failures }}
          values={outcomes}
          value={outcome}
          onValue={setOutcome}
        />
        <Check checked={showsPersons} onChecked={setShowsPersons}>
          {t.audit.sharePersons}
        </Check>
        <DialogButtons onCancel={onClose} submit={t.audit.shareMake} busy={work.isPending} />
      </form>
    </Dialog>
  );
}
