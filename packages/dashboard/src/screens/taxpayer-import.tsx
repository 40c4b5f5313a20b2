/**
 * Imports a pasted list: every line is read and checked before anything is sent, then the taxpayers are made one by one.
 * A line that is there already is no error: a list can be pasted again.
 */

import { isProblem } from "@emanet/client/source";
import { useState } from "react";
import { client, queries } from "../api/client.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field, FormError } from "../parts/field.tsx";
import { Glyph, type Status } from "../parts/glyph.tsx";
import { ShownName } from "../parts/shown-name.tsx";
import { errorText } from "../parts/states.tsx";
import { t } from "../strings/index.ts";
import { type PastedLine, parsePasted } from "../tax-id.ts";

/** What became of a line. */
type Outcome = "done" | "known" | { readonly failed: string };

export function ImportTaxpayers({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState("");
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map());
  const [isBusy, setBusy] = useState(false);
  const lines = parsePasted(text);
  const ready = lines.filter(({ verdict, taxId }) => verdict === "ok" && !outcomes.has(taxId));
  const wrong = lines.filter(({ verdict }) => verdict !== "ok").length;
  const done = [...outcomes.values()].filter((outcome) => outcome === "done").length;
  const run = async () => {
    setBusy(true);
    for (const line of ready) {
      const outcome = await make(line);
      setOutcomes((before) => new Map(before).set(line.taxId, outcome));
    }
    setBusy(false);
    for (const key of ["taxpayers", "nights", "vaults"]) void queries.invalidateQueries({ queryKey: [key] });
  };
  return (
    <Dialog title={t.taxpayers.import} onClose={onClose}>
      <div className="dialog-body">
        <Field label={t.taxpayers.paste} hint={t.taxpayers.pasteHint}>
          {(ids) => (
            <textarea
              {...ids}
              className="input"
              rows={6}
              placeholder={t.taxpayers.pasteSample}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
        {lines.length > 0 && <Lines lines={lines} outcomes={outcomes} />}
        <p role="status" className="lead">
          {done > 0 ? t.taxpayers.imported(done) : lines.length > 0 ? t.taxpayers.ready(ready.length) : ""}
          {wrong > 0 && ` · ${t.taxpayers.wrong(wrong)}`}
        </p>
        <FormError
          text={
            [...outcomes.values()]
              .map((one) => (typeof one === "object" ? one.failed : null))
              .find((one) => one !== null) ?? null
          }
        />
        <div className="dialog-actions">
          <Button onClick={onClose}>{done > 0 ? t.close : t.cancel}</Button>
          {ready.length > 0 && (
            <Button look="primary" busy={isBusy} onClick={() => void run()}>
              {t.taxpayers.importNow(ready.length)}
            </Button>
          )}
        </div>
      </div>
    </Dialog>
  );
}

async function make({ name, taxId }: PastedLine): Promise<Outcome> {
  try {
    await client.taxpayers.create({ body: { name, tax_id: taxId } });
    return "done";
  } catch (error) {
    if (isProblem(error, "state_conflict")) return "known";
    return { failed: errorText(error).title };
  }
}

const verdicts: Readonly<Record<PastedLine["verdict"], () => string>> = {
  ok: () => t.taxpayers.lineOk,
  no_name: () => t.taxpayers.lineNoName,
  bad_id: () => t.taxpayers.lineBadId,
  twice: () => t.taxpayers.lineTwice,
};

function stateOf(line: PastedLine, outcome: Outcome | undefined): { readonly status: Status; readonly text: string } {
  if (outcome === "done") return { status: "ok", text: t.taxpayers.lineDone };
  if (outcome === "known") return { status: "unchanged", text: t.taxpayers.lineKnown };
  if (outcome !== undefined) return { status: "failed", text: outcome.failed };
  return { status: line.verdict === "ok" ? "none" : "failed", text: verdicts[line.verdict]() };
}

interface LinesProps {
  readonly lines: readonly PastedLine[];
  readonly outcomes: ReadonlyMap<string, Outcome>;
}

function Lines({ lines, outcomes }: LinesProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the table scrolls, also with the keyboard
    <section className="scroll-box" tabIndex={0} aria-label={t.taxpayers.paste}>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{t.taxpayers.line}</th>
            <th scope="col">{t.taxpayers.nameLabel}</th>
            <th scope="col">{t.taxpayer.taxId}</th>
            <th scope="col">{t.taxpayers.state}</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => {
            const { status, text } = stateOf(line, line.verdict === "ok" ? outcomes.get(line.taxId) : undefined);
            return (
              <tr key={line.number}>
                <td>{line.number}</td>
                <td>
                  <ShownName name={line.name} />
                </td>
                <td>{line.taxId}</td>
                <td>
                  <Glyph status={status} size={13} /> {text}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}
