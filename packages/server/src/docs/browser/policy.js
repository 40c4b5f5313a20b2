// Runs in the browser, on /docs, before the reader. The policy of the page allows style elements with its nonce, no style
// attributes, and no code from strings. The reader makes styles in both ways, and one of its libraries tries whether it may
// compile code. Here each is done in a way that the policy allows.

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
