// Runs in the browser, in the frame of the reader: shows the service's own document with Scalar.

window.Scalar.createApiReference("#reader", {
  url: "/docs/json",
  // Colours and fonts are ours, in page.css. Its own fonts would come from another host.
  theme: "none",
  withDefaultFonts: false,
  // Requests go from the browser to this service: no proxy, no measuring, no assistant.
  proxyUrl: "",
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: "never",
  hideClientButton: true,
  // A token that was pasted here is gone with the tab.
  persistAuth: false,
  authentication: { preferredSecurityScheme: "bearer" },
  hideModels: true,
  showOperationId: true,
  documentDownloadType: "both",
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  generateTagSlug: ({ name }) => name,
  generateOperationSlug: ({ operationId }) => operationId,
  localization: { locale: document.documentElement.lang, translations: window.readerTexts ?? {} },
});
