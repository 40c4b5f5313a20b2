/** Exports the audit trail of a period. How many exports are left today comes from the limits of the account. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useState } from "react";
import { client, queries } from "../api/client.ts";
import { saveBlob } from "../api/downloads.ts";
import { rateLimitsQuery } from "../api/queries.ts";
import { addDays, today } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { Field } from "../parts/field.tsx";
import { Segments } from "../parts/segments.tsx";
import { ErrorCard } from "../parts/states.tsx";
import { t } from "../strings/index.ts";

const formats = ["csv", "json", "ndjson", "cef"] as const;
type Format = (typeof formats)[number];

/** A month, the period that auditors ask for most. */
const firstPeriodDays = 30;

export function ExportCard() {
  const [format, setFormat] = useState<Format>("csv");
  const [from, setFrom] = useState(addDays(today(), -firstPeriodDays));
  const [to, setTo] = useState(today());
  const { data: limits } = useQuery(rateLimitsQuery);
  const limit = limits?.find(({ policy }) => policy === "audit_export");
  const work = useMutation({
    mutationFn: async () => {
      const query = new URLSearchParams({ format, from: startOf(from), to: startOf(addDays(to, 1)) });
      const { response } = await client.request({ method: "GET", path: `/v1/audit/export?${query}`, timeoutMs: 0 });
      saveBlob(await response.blob(), `audit-${from}-${to}.${format}`);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["rate-limits"] }),
  });
  return (
    <section className="card side-card" aria-labelledby="export-title">
      <h2 id="export-title">{t.audit.export}</h2>
      <p className="lead">{t.audit.exportDetail}</p>
      <Segments
        label={t.audit.format}
        value={format}
        onValue={setFormat}
        className="segments-wide"
        options={formats.map((value) => ({ value, text: value.toUpperCase() }))}
      />
      <div className="export-days">
        <DayField label={t.audit.from} value={from} max={to} onValue={setFrom} />
        <DayField label={t.audit.to} value={to} max={today()} onValue={setTo} />
      </div>
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
      {limit !== undefined && <p className="lead">{t.audit.left(limit.remaining, limit.limit)}</p>}
    </section>
  );
}

/** Midnight in Istanbul, as the API takes times. */
function startOf(day: string): string {
  return new Date(`${day}T00:00:00+03:00`).toISOString();
}

interface DayFieldProps {
  readonly label: string;
  readonly value: string;
  readonly max: string;
  readonly onValue: (value: string) => void;
}

function DayField({ label, value, max, onValue }: DayFieldProps) {
  return (
    <Field label={label}>
      {(ids) => (
        <input
          {...ids}
          type="date"
          className="input"
          required
          max={max}
          value={value}
          onChange={(event) => event.target.value !== "" && onValue(event.target.value)}
        />
      )}
    </Field>
  );
}
