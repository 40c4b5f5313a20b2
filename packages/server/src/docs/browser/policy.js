// Runs in the browser, in the frame of the reader, before the reader. The policy of the frame allows style elements with its
// nonce, no style attributes, and no code from strings. The reader makes styles in both ways, and one of its libraries tries
// whether it may compile code. Here each is done in a way that the policy allows. The frame has no storage and no cookies and
// connects to nothing: what the reader keeps ends with the page, and its requests are sent by the page around (relay.js).

const { content: nonce } = document.querySelector('meta[property="csp-nonce"]');
const createElement = document.createElement.bind(document);
const { setAttribute } = Element.prototype;
const innerHtml = Object.getOwnPropertyDescriptor(Element.prototype, "innerHTML");

document.createElement = (name, options) => {
  const element = createElement(name, options);
  if (element instanceof HTMLStyleElement) element.nonce = nonce;
  return element;
};

Element.prototype.setAttribute = function (name, value) {
  if (name === "style") this.style.cssText = value;
  else setAttribute.call(this, name, value);
};

// Highlighted code has style attributes with the number of its lines.
Object.defineProperty(Element.prototype, "innerHTML", {
  ...innerHtml,
  set(html) {
    innerHtml.set.call(this, String(html).replaceAll(/(<[^>]*) style="/g, '$1 data-style="'));
    for (const element of this.querySelectorAll("[data-style]")) element.style.cssText = element.dataset.style;
  },
});

// zod, which checks the settings of the reader.
window.__zod_globalConfig = { jitless: true };

const origin = new URL(document.URL).origin;
// Opened by itself it cannot send requests.
if (window === parent) location.replace(`${origin}/docs${location.search}${location.hash}`);

function memoryStorage() {
  const kept = new Map();
  return {
    get length() {
      return kept.size;
    },
    key: (at) => [...kept.keys()][at] ?? null,
    getItem: (name) => kept.get(String(name)) ?? null,
    setItem: (name, value) => void kept.set(String(name), String(value)),
    removeItem: (name) => void kept.delete(String(name)),
    clear: () => kept.clear(),
  };
}
for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(window, name, { value: memoryStorage() });
Object.defineProperty(document, "cookie", { get: () => "", set: () => undefined });

const { port1: page, port2 } = new MessageChannel();
const waiting = new Map();
let lastId = 0;
page.onmessage = ({ data }) => {
  if (data.kind === "hash") location.hash = data.hash;
  else waiting.get(data.id)?.(data);
};
parent.postMessage("reader", origin, [port2]);

/** Statuses whose answers have no body. */
const withoutBody = [204, 205, 304];

window.fetch = async (input, options) => {
  const request = new Request(input, options);
  const body = ["GET", "HEAD"].includes(request.method) ? null : await request.arrayBuffer();
  request.signal.throwIfAborted();
  lastId += 1;
  const id = lastId;
  const { method, url, signal } = request;
  const { promise, resolve, reject } = Promise.withResolvers();
  waiting.set(id, resolve);
  signal.addEventListener("abort", () => {
    page.postMessage({ kind: "abort", id });
    reject(signal.reason);
  });
  page.postMessage({ kind: "fetch", id, url, method, headers: [...request.headers], body });
  const answer = await promise.finally(() => waiting.delete(id));
  if (answer.kind === "failure") throw new TypeError(answer.message);
  const { status, statusText, headers } = answer;
  return new Response(withoutBody.includes(status) ? null : answer.body, { status, statusText, headers });
};

// The address of the page around follows what is read.
for (const name of ["pushState", "replaceState"]) {
  const own = history[name].bind(history);
  history[name] = (...state) => {
    own(...state);
    page.postMessage({ kind: "hash", hash: location.hash });
  };
}

// A link to another page opens in the whole window, not in the frame.
addEventListener(
  "click",
  ({ target }) => {
    const link = target instanceof Element ? target.closest("a[href]") : null;
    if (link !== null && link.target === "" && link.href.split("#")[0] !== document.URL.split("#")[0])
      link.target = "_top";
  },
  { capture: true },
);
