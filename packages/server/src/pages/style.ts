/** How every page looks: one style sheet, light and dark, narrow enough for a phone, and fit to be printed. */

/** Where the style sheet is served. */
export const stylePath = "/oauth2/pages.css";

/**
 * The style sheet of every page. Its colours and sizes are those of the dashboard (`styles/tokens.css` there); the font is that
 * of the system, because these pages load one file.
 */
export const styleSheet = `:root {
  color-scheme: light dark;
  --canvas: light-dark(#F7F6F3, #0D0E10); --surface: light-dark(#FFFFFF, #15161A); --subtle: light-dark(#F1F0EC, #1C1E23);
  --line: light-dark(#E8E6E1, #26282E); --line-strong: light-dark(#DAD7D0, #33363D); --control: light-dark(#8D8A82, #6E6D69);
  --text: light-dark(#1A1917, #F2F1ED); --text-2: light-dark(#55534D, #B4B2AB);
  --accent: light-dark(#2346D3, #93A8FF); --button: light-dark(#2346D3, #4562EA);
  --fail: light-dark(#B42318, #FF8A7E); --fail-soft: light-dark(#FDECEA, #311714);
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--canvas); color: var(--text); font: .9375rem/1.5 "Geist", system-ui, "Segoe UI", sans-serif; }
main { max-width: 25rem; margin: 6.5rem auto 2rem; padding: 1.75rem; border: 1px solid var(--line); border-radius: 16px; background: var(--surface); box-shadow: 0 4px 14px -4px light-dark(rgb(26 25 23 / .07), transparent); }
h1 { margin: 0 0 .5rem; font-size: 1.375rem; line-height: 1.75rem; letter-spacing: -.018em; }
p { margin: 0 0 1rem; color: var(--text-2); }
p strong { color: var(--text); }
a { color: var(--accent); }
.brand { position: absolute; top: 1.5rem; left: 2rem; display: flex; align-items: center; gap: .6rem; margin: 0; color: var(--text); font-size: 1.1rem; font-weight: 600; text-transform: lowercase; }
label { display: block; margin: 0 0 1rem; font-size: .8125rem; font-weight: 600; }
input:not([type=hidden]) { display: block; width: 100%; height: 2.75rem; margin-top: .4rem; padding: 0 .8rem; border: 1px solid var(--control); border-radius: 8px; background: var(--surface); color: inherit; font: inherit; font-size: .9375rem; font-weight: 400; }
input[type=checkbox], input[type=radio] { display: inline-block !important; width: 1rem !important; height: 1rem !important; margin: 0 .5rem 0 0 !important; }
input.code, p.code { font-size: 1.4rem; letter-spacing: .15em; text-transform: uppercase; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
button { width: 100%; min-height: 2.75rem; margin: 0 0 .6rem; padding: .5rem 1rem; border: 1px solid transparent; border-radius: 8px; background: var(--button); color: #fff; font: inherit; font-weight: 600; cursor: pointer; }
button.second { border-color: var(--line-strong); background: var(--surface); color: var(--text); }
dl { margin: 0 0 1rem; padding: .9rem 1rem .4rem; border: 1px solid var(--line); border-radius: 12px; background: var(--canvas); }
dt { color: var(--text-2); font-size: .8125rem; }
dd { margin: 0 0 .5rem; overflow-wrap: anywhere; }
code { font-family: "Geist Mono", ui-monospace, Consolas, monospace; }
.failure { padding: .6rem .8rem; border-radius: 8px; background: var(--fail-soft); color: var(--fail); }
.small { font-size: .8125rem; }
.field-failure { display: block; margin-top: .3rem; color: var(--fail); font-weight: 400; }
img.qr { display: block; width: 16rem; height: 16rem; max-width: 100%; margin: 0 auto 1rem; image-rendering: pixelated; background: #fff; border: 1px solid var(--line); border-radius: 8px; }
ul.codes { columns: 2; margin: 0 0 1rem; padding: .9rem 1rem; border: 1px solid var(--line); border-radius: 12px; background: var(--canvas); list-style: none; font-family: "Geist Mono", ui-monospace, Consolas, monospace; }
.secret { overflow-wrap: anywhere; }
@media (max-width: 30rem) { main { margin: 5rem .75rem 1rem; padding: 1.25rem; } .brand { left: 1.25rem; } }
@media print { form, .screen { display: none; } body { background: none; } main { border: 0; box-shadow: none; } }
`;
