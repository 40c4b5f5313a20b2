/** The sign-in screen: the form on the left, what the service promises on the right. */

import { Link } from "@tanstack/react-router";
import { Moon } from "lucide-react";
import { useEffect } from "react";
import { roundedSquare } from "../charts/squares.ts";
import { Glyph } from "../parts/glyph.tsx";
import { OpenFoot, OpenTop } from "../parts/open-frame.tsx";
import { t } from "../strings/index.ts";
import { SignInForm } from "./sign-in-form.tsx";

export function SignIn() {
  useEffect(() => {
    document.title = `${t.signIn.title} · Emanet`;
  }, []);
  return (
    <div className="sign-in">
      <div className="sign-in-side">
        <OpenTop />
        <main className="sign-in-main">
          <h1>{t.signIn.title}</h1>
          <p className="lead">{t.signIn.lead}</p>
          <SignInForm />
          <p className="sign-in-apply">
            {t.signIn.noAccount} <Link to="/app/apply">{t.signIn.apply}</Link>
          </p>
        </main>
        <OpenFoot />
      </div>
      <Example />
    </div>
  );
}

/** An example, drawn: it has no data of anybody. */
function Example() {
  return (
    <aside className="promise" aria-label={t.signIn.claim.join(" ")}>
      <div className="promise-tiles" aria-hidden="true" />
      <div className="promise-card" aria-hidden="true">
        <span className="promise-caption">
          <Moon size={14} /> {t.signIn.sample}
        </span>
        <strong>{t.signIn.sampleBoard}</strong>
        <SampleBoard />
      </div>
      <div className="promise-card promise-restore" aria-hidden="true">
        <Glyph status="ok" size={20} />
        <div>
          <strong>{t.signIn.sampleRestore}</strong>
          <span>{t.signIn.sampleFiles}</span>
        </div>
      </div>
      <div className="promise-claim">
        <h2>
          {t.signIn.claim.map((line) => (
            <span key={line}>{line}</span>
          ))}
        </h2>
        <p>{t.signIn.claimDetail}</p>
      </div>
    </aside>
  );
}

const sampleColumns = 24;
const sampleRows = 5;
/** Squares of the example that are outlined, by their number. */
const unchanged = new Set([
  0, 4, 6, 19, 22, 25, 32, 36, 39, 40, 43, 45, 52, 54, 59, 61, 62, 63, 67, 75, 79, 86, 91, 94, 96, 102, 103, 110,
]);
const pitch = 21;
const side = 15.4;

function SampleBoard() {
  const cells = Array.from({ length: sampleColumns * sampleRows }, (_, at) => at);
  const square = (at: number, inset: number) => {
    const x = (at % sampleColumns) * pitch + inset;
    const y = Math.floor(at / sampleColumns) * pitch + inset;
    return roundedSquare(x, y, side - 2 * inset, 3.4 - inset);
  };
  return (
    <svg
      viewBox={`0 0 ${sampleColumns * pitch - (pitch - side)} ${sampleRows * pitch - (pitch - side)}`}
      aria-hidden="true"
    >
      <path
        d={cells
          .filter((at) => !unchanged.has(at))
          .map((at) => square(at, 0))
          .join("")}
        fill="#2A9560"
      />
      <path
        d={cells
          .filter((at) => unchanged.has(at))
          .map((at) => square(at, 0.7))
          .join("")}
        fill="#E5F3EA"
        stroke="#45A073"
        strokeWidth="1.4"
      />
    </svg>
  );
}
