/** How every page looks: one style sheet, light and dark, narrow enough for a phone, and fit to be printed. */

/** Where the style sheet is served. */
export const stylePath = "/oauth2/pages.css";

/** The style sheet of every page. */
export const styleSheet = `:root { color-scheme: light dark; }
body { margin: 0; font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 28rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin: 0 0 1rem; }
.brand { font-weight: 700; letter-spacing: .05em; margin: 0 0 .5rem; }
label { display: block; margin: 0 0 1rem; }
input:not([type=hidden]) { display: block; box-sizing: border-box; width: 100%; padding: .5rem; font: inherit; }
input.code, p.code { font-size: 1.4rem; letter-spacing: .15em; text-transform: uppercase; }
button { padding: .6rem 1.2rem; font: inherit; font-weight: 600; cursor: pointer; }
button.second { font-weight: 400; }
dt { font-size: .9rem; opacity: .75; }
dd { margin: 0 0 .5rem; overflow-wrap: anywhere; }
.failure { border-left: .25rem solid #c00; padding-left: .75rem; }
.small { font-size: .8rem; opacity: .75; }
.field-failure { display: block; color: #c00; font-size: .9rem; }
img.qr { display: block; width: 16rem; height: 16rem; max-width: 100%; image-rendering: pixelated; background: #fff; }
ul.codes { columns: 2; padding: 0; list-style: none; font-size: 1.1rem; }
.secret { overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { .field-failure { color: #f88; } }
@media print { form, .screen { display: none; } }
`;
