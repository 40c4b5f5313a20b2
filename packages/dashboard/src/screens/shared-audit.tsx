/**
 * For an outside auditor, without an account: the records of a share. The key is in the memory of this page alone, and is sent
 * in a header: never in an address, never in storage.
 */

import { createClient, type EmanetClient, isProblem } from "@emanet/client/source";
import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Download, Eye, KeyRound } from "lucide-react";
import { type FormEvent, useEffect, useMemo, useState } from "react";
import { saveBlob } from "../api/downloads.ts";
import { addDays, today } from "../format.ts";
import { actMessage } from "../parts/act-dialogs.tsx";
import { AuditList } from "../parts/audit-list.tsx";
import { Button } from "../parts/button.tsx";
import { FormError } from "../parts/field.tsx";
import { OpenFoot, OpenTop } from "../parts/open-frame.tsx";
import { Segments } from "../parts/segments.tsx";
import { Empty, ErrorCard, QueryView } from "../parts/states.tsx";
import { TextField } from "../parts/text-field.tsx";
import { pageLanguage, t } from "../strings/index.ts";
import { a } from "../strings/shared-audit.ts";

function clientOf(token: string): EmanetClient {
  return createClient({
    baseUrl: location.origin,
    credentials: { token: async () => token },
    language: pageLanguage,
    retries: { max: 2, maxWaitMs: 2_000 },
  });
}

export function SharedAudit() {
  const [client, setClient] = useState<EmanetClient | null>(null);
  useEffect(() => {
    document.title = `${a.title} · Emanet`;
  }, []);
  return (
    <div className="shared-audit">
      <OpenTop />
      <main id="content" className="shared-main">
        {client === null ? (
          <KeyForm onOpen={setClient} />
        ) : (
          <Records client={client} onForget={() => setClient(null)} />
        )}
      </main>
      <OpenFoot />
    </div>
  );
}

/** What a key looks like; the service checks it. */
const keyPattern = /^shr_[A-Za-z0-9_-]+$/;

function KeyForm({ onOpen }: { readonly onOpen: (client: EmanetClient) => void }) {
  const [token, setToken] = useState("");
  const [isChecked, setChecked] = useState(false);
  const isShaped = keyPattern.test(token.trim());
  const work = useMutation({
    mutationFn: async () => {
      const client = clientOf(token.trim());
      // A key that is not valid is said here, where it can be typed again.
      await client.auditShared.listEvents({ limit: 1 });
      return client;
    },
    onSuccess: onOpen,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (isShaped) work.mutate();
  };
  const isWrong = isProblem(work.error) && [401, 403, 404, 410].includes(work.error.status);
  return (
    <form className="card shared-form" onSubmit={submit} autoComplete="off">
      <span className="chain-icon">
        <KeyRound size={20} aria-hidden="true" />
      </span>
      <h1>{a.title}</h1>
      <p className="lead">{a.lead}</p>
      <FormError text={isWrong ? a.wrong : actMessage(work.error)} />
      <TextField
        label={a.token}
        hint={a.tokenHint}
        error={isChecked && !isShaped ? a.shape : undefined}
        type="password"
        // Not a password: browsers must not offer to keep it.
        autoComplete="off"
        data-1p-ignore=""
        spellCheck={false}
        required
        maxLength={200}
        value={token}
        onText={setToken}
      />
      <Button look="primary" type="submit" busy={work.isPending} className="wide">
        {a.open}
      </Button>
      <Link to="/" className="shared-sign-in">
        {a.signIn}
      </Link>
    </form>
  );
}

const periods = ["7", "30", "90"] as const;
const listPage = 100;

interface RecordsProps {
  readonly client: EmanetClient;
  readonly onForget: () => void;
}

/** Midnight in Istanbul, so many days ago. */
function startOf(days: string): string {
  return new Date(`${addDays(today(), 1 - Number(days))}T00:00:00+03:00`).toISOString();
}

function Records({ client, onForget }: RecordsProps) {
  const [days, setDays] = useState<(typeof periods)[number]>("90");
  const from = useMemo(() => startOf(days), [days]);
  const records = useInfiniteQuery({
    queryKey: ["shared-audit", from],
    // Forgotten with the key.
    gcTime: 0,
    initialPageParam: "",
    queryFn: ({ signal, pageParam }) =>
      client.auditShared.listEvents(
        { limit: listPage, from, ...(pageParam !== "" && { cursor: pageParam }) },
        { signal },
      ),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  const texts = { "7": t.audit.days7, "30": t.audit.days30, "90": t.audit.days90 };
  return (
    <div className="audit">
      <section className="card chain" aria-labelledby="shared-title">
        <span className="chain-icon">
          <Eye size={20} aria-hidden="true" />
        </span>
        <div>
          <h1 id="shared-title">{a.title}</h1>
          <p>{a.noted}</p>
        </div>
        <Button size="small" onClick={onForget}>
          {a.forget}
        </Button>
      </section>
      <div className="audit-columns">
        <section className="card audit-records" aria-label={a.records}>
          <div className="audit-filters">
            <Segments
              label={t.audit.range}
              value={days}
              onValue={setDays}
              options={periods.map((value) => ({ value, text: texts[value] }))}
            />
          </div>
          <QueryView query={records} lines={10}>
            {({ pages }) => {
              const list = pages.flatMap(({ data }) => data);
              if (list.length === 0) return <Empty title={t.audit.empty} />;
              return <AuditList list={list} query={records} masked={a.masked} />;
            }}
          </QueryView>
        </section>
        <Export client={client} from={from} />
      </div>
    </div>
  );
}

const formats = ["csv", "json", "ndjson", "cef"] as const;

function Export({ client, from }: { readonly client: EmanetClient; readonly from: string }) {
  const [format, setFormat] = useState<(typeof formats)[number]>("csv");
  const work = useMutation({
    mutationFn: async () => {
      const query = new URLSearchParams({ format, from });
      const path = `/v1/audit/shared/export?${query}`;
      const { response } = await client.request({ method: "GET", path, timeoutMs: 0 });
      saveBlob(await response.blob(), `audit-${today()}.${format}`);
    },
  });
  return (
    <section className="card side-card" aria-labelledby="shared-export">
      <h2 id="shared-export">{t.audit.export}</h2>
      <p className="lead">{a.exportDetail}</p>
      <Segments
        label={t.audit.format}
        value={format}
        onValue={setFormat}
        className="segments-wide"
        options={formats.map((value) => ({ value, text: value.toUpperCase() }))}
      />
      <Button
        look="primary"
        className="wide"
        icon={<Download size={15} aria-hidden="true" />}
        busy={work.isPending}
        onClick={() => work.mutate()}
      >
        {t.audit.download(format.toUpperCase())}
      </Button>
      {work.error !== null && <ErrorCard error={work.error} isSmall />}
      <a href="/docs/verify-audit.mjs" download="">
        {a.checker}
      </a>
    </section>
  );
}
