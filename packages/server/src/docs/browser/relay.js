// Runs in the browser, on /docs, beside the frame of the reader. The frame has an origin of its own, without our cookies and our storage, and its
// policy lets it connect to nothing. It asks here for its requests: they go to this service alone, without cookies.

const frame = document.getElementById("reader");
frame.src = `${frame.dataset.page}${location.hash}`;

addEventListener("message", ({ source, data, ports: [port] }) => {
  if (source !== frame.contentWindow || data !== "reader" || port === undefined) return;
  const running = new Map();
  port.onmessage = ({ data: told }) => {
    if (told.kind === "hash") history.replaceState(null, "", told.hash);
    else if (told.kind === "abort") running.get(told.id)?.abort();
    else if (told.kind === "fetch") void send(port, running, told);
  };
  addEventListener("hashchange", () => port.postMessage({ kind: "hash", hash: location.hash }));
});

async function send(port, running, { id, url, method, headers, body }) {
  const ended = new AbortController();
  running.set(id, ended);
  try {
    const target = new URL(url, location.origin);
    if (target.origin !== location.origin) throw new TypeError("only this service is called from here");
    const answer = await fetch(target, {
      ...{ method, headers, body, signal: ended.signal },
      ...{ credentials: "omit", mode: "same-origin", cache: "no-store", referrerPolicy: "no-referrer" },
    });
    const bytes = await answer.arrayBuffer();
    const { status, statusText } = answer;
    port.postMessage({ kind: "answer", id, status, statusText, headers: [...answer.headers], body: bytes }, [bytes]);
  } catch (error) {
    port.postMessage({ kind: "failure", id, message: String(error.message) });
  } finally {
    running.delete(id);
  }
}
