import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { type OutgoingSms, PermanentDeliveryError, TransientDeliveryError } from "./ports.ts";
import { createGatewaySms, localNumber, type SmsGateway } from "./sms-gateway.ts";

const sms: OutgoingSms = {
  id: "0198c0de-0000-7000-8000-00000000abcd",
  to: "+905000000001",
  text: "Emanet doğrulama kodunuz: 123456.",
  template: "otp_code",
  language: "tr",
};

/** A text that would break out of a string, an element or a field, and that looks like placeholders. */
const nasty = `"}],{"x":"\\ </msg><x a='1'>&amp;&to=1 {to} {id} %7B ğüşiöç\n$& $1`;

interface Received {
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

interface Double {
  readonly url: string;
  readonly received: Received[];
}

type Answer = (response: ServerResponse, received: Received) => void;

async function gatewayServer(t: TestContext, answer: Answer = (response) => response.end("ok")): Promise<Double> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const one = { url: `${request.method} ${request.url}`, headers: request.headers, body };
    received.push(one);
    answer(response, one);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

function gateway(url: string, changes: Partial<SmsGateway> = {}): SmsGateway {
  const bodyTemplate = '{"to":"{to}","text":"{text}","id":"{id}"}';
  return { url, bodyTemplate, contentType: "application/json", authorization: null, success: null, ...changes };
}

/** The settings of docs/OPERATIONS.md, with the URL of the test server. */
const netgsm = {
  bodyTemplate:
    '{"msgheader":"EMANET","encoding":"TR","iysfilter":"0","messages":[{"msg":"{text}","no":"{to_local}"}]}',
  authorization: `Basic ${Buffer.from("8500000000:parola").toString("base64")}`,
  success: /"code"\s*:\s*"00"/,
};

const iletiMerkezi = {
  bodyTemplate:
    '{"request":{"authentication":{"key":"KEY","hash":"HASH"},"order":{"sender":"EMANET","iys":"0","message":{"text":"{text}","receipents":{"number":["{to}"]}}}}}',
  success: /"status"\s*:\s*\{\s*"code"\s*:\s*"?200"?\s*,/,
};

describe("gateways that the documented settings work with", () => {
  test("Netgsm REST v2 accepts the message, and its refusals are errors", async (t) => {
    let code = "00";
    const server = await gatewayServer(t, (response, { body }) => {
      const { messages } = JSON.parse(body);
      const valid = /^[0-9]{10}$/.test(messages[0].no);
      response.writeHead(code === "00" && valid ? 200 : 406, { "content-type": "application/json" });
      response.end(
        JSON.stringify(code === "00" && valid ? { code, jobid: "17377215342605", description: "queued" } : { code }),
      );
    });
    const port = createGatewaySms(gateway(`${server.url}/sms/rest/v2/send`, netgsm));
    await port.send(sms);
    const [first] = server.received;
    assert.equal(first?.url, "POST /sms/rest/v2/send");
    assert.equal(first?.headers.authorization, "Basic ODUwMDAwMDAwMDpwYXJvbGE=");
    assert.equal(first?.headers["content-type"], "application/json");
    assert.deepEqual(JSON.parse(first?.body ?? ""), {
      msgheader: "EMANET",
      encoding: "TR",
      iysfilter: "0",
      messages: [{ msg: sms.text, no: "5000000001" }],
    });
    code = "30";
    await assert.rejects(port.send(sms), transient("gateway_406"));
  });

  test("an older Netgsm answer, status 200 with an error code, is an error too", async (t) => {
    const server = await gatewayServer(t, (response) => response.end('{"code":"40","description":"sender"}'));
    const port = createGatewaySms(gateway(server.url, netgsm));
    await assert.rejects(port.send(sms), transient("gateway_refused"));
  });

  test("İleti Merkezi accepts the message, and its refusals are errors", async (t) => {
    let status = "200";
    const server = await gatewayServer(t, (response) => {
      response.end(JSON.stringify({ response: { status: { code: status, message: "…" }, order: { id: "200" } } }));
    });
    const port = createGatewaySms(gateway(`${server.url}/v1/send-sms/json`, iletiMerkezi));
    await port.send(sms);
    const [first] = server.received;
    assert.equal(first?.url, "POST /v1/send-sms/json");
    assert.deepEqual(JSON.parse(first?.body ?? ""), {
      request: {
        authentication: { key: "KEY", hash: "HASH" },
        order: { sender: "EMANET", iys: "0", message: { text: sms.text, receipents: { number: ["+905000000001"] } } },
      },
    });
    status = "402";
    await assert.rejects(port.send(sms), transient("gateway_refused"));
  });
});

describe("the body of a call", () => {
  test("JSON: a text cannot end its string, and braces in it are not placeholders", async (t) => {
    const server = await gatewayServer(t);
    await createGatewaySms(gateway(server.url)).send({ ...sms, text: nasty });
    assert.deepEqual(JSON.parse(server.received[0]?.body ?? ""), { to: sms.to, text: nasty, id: sms.id });
  });

  test("form: a text cannot add a field", async (t) => {
    const server = await gatewayServer(t);
    const contentType = "application/x-www-form-urlencoded; charset=utf-8";
    const bodyTemplate = "number={to}&local={to_local}&message={text}";
    await createGatewaySms(gateway(server.url, { contentType, bodyTemplate })).send({ ...sms, text: nasty });
    const form = new URLSearchParams(server.received[0]?.body);
    assert.deepEqual(Object.fromEntries(form), { number: sms.to, local: "5000000001", message: nasty });
    assert.equal(form.size, 3);
  });

  test("XML: a text cannot end its element or attribute, and contains no character that XML forbids", async (t) => {
    const server = await gatewayServer(t);
    const bodyTemplate = '<sms to="{to}"><msg>{text}</msg></sms>';
    const port = createGatewaySms(gateway(server.url, { contentType: "text/xml", bodyTemplate }));
    await port.send({ ...sms, text: `${nasty}\u0000\u0008\uFFFE` });
    const body = server.received[0]?.body ?? "";
    const inner = /^<sms to="\+905000000001"><msg>([^<>"']*)<\/msg><\/sms>$/s.exec(body)?.[1] ?? "";
    assert.equal(
      inner.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code))),
      nasty,
    );
  });

  test("wrong settings are refused at start, and the error does not quote them", () => {
    const wrong: Partial<SmsGateway>[] = [
      { contentType: "text/plain" },
      { bodyTemplate: '{"to":"{to}"}' },
      { bodyTemplate: '{"text":"{text}"}' },
      { bodyTemplate: '{"to":{to},"text":{text}}' },
      { contentType: "text/xml", bodyTemplate: "<a to='{to}'><![CDATA[{text}]]></a>" },
      { url: "http://sms.example.invalid/gizli" },
      { url: "https://gizli:gizli@sms.example.invalid/" },
      { url: "gizli" },
    ];
    for (const changes of wrong) {
      const make = () => createGatewaySms(gateway("https://sms.example.invalid/", changes));
      assert.throws(
        make,
        (error: Error) => error instanceof TypeError && !/gizli/.test(error.message),
        JSON.stringify(changes),
      );
    }
  });

  test("the local form of a number is ten digits for Türkiye and 00 with the country code elsewhere", () => {
    assert.equal(localNumber("+905321112233"), "5321112233");
    assert.equal(localNumber("+491511234567"), "00491511234567");
    assert.equal(localNumber("+9051"), "009051");
  });
});

describe("the answer of a gateway", () => {
  test("400, 413 and 422 are permanent errors, other error statuses transient", async (t) => {
    let status = 200;
    const server = await gatewayServer(t, (response) => response.writeHead(status).end(`to ${sms.to}: ${sms.text}`));
    const port = createGatewaySms(gateway(server.url));
    for (status of [400, 413, 422]) await assert.rejects(port.send(sms), permanent(`gateway_${status}`));
    for (status of [401, 402, 403, 404, 406, 408, 429, 500, 502, 503]) {
      await assert.rejects(port.send(sms), transient(`gateway_${status}`));
    }
    for (status of [200, 201, 202]) await port.send(sms);
  });

  test("a redirect is not followed", async (t) => {
    const other = await gatewayServer(t);
    for (const status of [301, 302, 307, 308]) {
      const server = await gatewayServer(t, (response) => response.writeHead(status, { location: other.url }).end());
      await assert.rejects(createGatewaySms(gateway(server.url)).send(sms), transient(`gateway_${status}`));
    }
    assert.equal(other.received.length, 0);
  });

  test("an endless answer is aborted", async (t) => {
    const server = await gatewayServer(t, (response) => {
      const chunk = "x".repeat(16 * 1024);
      const pour = (): void => {
        if (!response.destroyed && response.write(chunk)) setImmediate(pour);
      };
      response.on("drain", pour);
      pour();
    });
    await assert.rejects(createGatewaySms(gateway(server.url)).send(sms), transient("gateway_answer_too_large"));
  });

  test("the signal ends a call that hangs, before and during the answer", async (t) => {
    const silent = await gatewayServer(t, () => undefined);
    const port = createGatewaySms(gateway(silent.url));
    await assert.rejects(port.send(sms, AbortSignal.timeout(50)), transient("gateway_timeout"));
    const halfway = await gatewayServer(t, (response) => void response.write("o"));
    const other = createGatewaySms(gateway(halfway.url));
    await assert.rejects(other.send(sms, AbortSignal.timeout(50)), transient("gateway_timeout"));
  });

  test("a broken connection is a transient error", async (t) => {
    const server = await gatewayServer(t, (response) => response.destroy());
    await assert.rejects(createGatewaySms(gateway(server.url)).send(sms), transient("gateway_unreachable"));
  });

  test("a success pattern with the flag g matches every time", async (t) => {
    const server = await gatewayServer(t);
    const port = createGatewaySms(gateway(server.url, { success: /ok/g }));
    for (let count = 0; count < 3; count += 1) await port.send(sms);
  });

  test("a number that is not E.164 is refused before anything is sent", async (t) => {
    const server = await gatewayServer(t);
    const port = createGatewaySms(gateway(server.url));
    for (const to of ["05321112233", "905321112233", "+0", "+90532x", "+905321112233,+905321112234", ""]) {
      await assert.rejects(port.send({ ...sms, to }), permanent("invalid_recipient"), to);
    }
    assert.equal(server.received.length, 0);
  });
});

function permanent(code: string) {
  return expected(PermanentDeliveryError, code);
}

function transient(code: string) {
  return expected(TransientDeliveryError, code);
}

/** The error has that class and code, and quotes nothing of the message or the gateway. */
function expected(type: typeof PermanentDeliveryError | typeof TransientDeliveryError, code: string) {
  return (error: unknown) => {
    assert.ok(error instanceof type, String(error));
    assert.equal(error.code, code);
    assert.equal(error.message, code);
    assert.equal(error.cause, undefined);
    return true;
  };
}
