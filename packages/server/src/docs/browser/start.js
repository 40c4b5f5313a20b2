// Runs in the browser, on /docs: shows the service's own document with Swagger UI.

window.SwaggerUIBundle({
  url: "/docs/json",
  dom_id: "#docs",
  presets: [window.SwaggerUIBundle.presets.apis],
  // No top bar: it would let people load any other document on our site.
  layout: "BaseLayout",
  // The default sends the document to a validator on the Internet.
  validatorUrl: null,
  deepLinking: true,
  displayOperationId: true,
  displayRequestDuration: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  // A token that was pasted here is gone with the tab.
  persistAuthorization: false,
});
