import assert from "node:assert/strict";
import { after, test } from "node:test";
import { sql } from "kysely";
import { extendedHeader } from "../../archives/testing.ts";
import { accountRows } from "../../paths/testing.ts";
import { endMark, member, snapshotTest, tarOf } from "../../snapshots/testing.ts";
import { makeTaxpayer } from "../../taxpayers/testing.ts";
import { tokenFor } from "../../testing/accounts.ts";
import { makeVault } from "../../vaults/testing.ts";
import { pathsOf, search } from "../testing.ts";

const env = await snapshotTest({ after });
const owner = await env.as({ role: "owner" });

test("200: a name is found by a part of it, with its newest version and the snapshots that have it", async () => {
  const first = await env.completed("belgeler", { "2026/ocak/fatura-1.xml": "a", "2026/ocak/mizan.xlsx": "b" });
  const second = await env.completed("belgeler", { "2026/ocak/fatura-1.xml": "aa", "2026/ocak/mizan.xlsx": "b" });
  const page = await search(env, "atura-1");
  assert.equal(page.data.length, 1);
  const [found] = page.data;
  assert.deepEqual(
    [found?.name, found?.path, found?.type, found?.size_bytes, found?.source.name, found?.is_current],
    ["fatura-1.xml", "2026/ocak/fatura-1.xml", "file", 2, "belgeler", true],
  );
  assert.deepEqual([found?.first_snapshot.id, found?.last_snapshot.id], [second.id, second.id]);
  assert.deepEqual(page.projection, { snapshot_id: second.id, created_at: second.created_at, waiting: 0 });
  const [same] = (await search(env, "mizan")).data;
  assert.deepEqual([same?.first_snapshot.id, same?.last_snapshot.id], [first.id, second.id]);
  assert.deepEqual(await pathsOf(env, "ocak"), ["2026/ocak"], "directories are names too");
});

test("a file that the newest snapshot does not have is found, and says so", async () => {
  await env.completed("eski", { "silinen-rapor.pdf": "x" });
  await env.completed("eski", { "baska.pdf": "x" });
  const [found] = (await search(env, "silinen-rapor")).data;
  assert.equal(found?.is_current, false);
});

test("case, Turkish letters and composed or decomposed forms make no difference", async () => {
  const names = [
    "IĞDIR ŞUBESİ.pdf",
    "ığdır şubesi.doc",
    "Iğdır Şubesi".normalize("NFD"),
    "igdir subesi",
    "ÇÖZÜM Üçgen.txt",
  ];
  await env.upload("source=harf", Buffer.concat([...names.map((name) => member({ name: `h/${name}` }, "x")), endMark]));
  for (const query of ["ığdır", "IGDIR", "iğdir şubesi", "İĞDİR", "ıgdır".normalize("NFD"), "ŞUBESİ", "subesi ığ"])
    assert.equal((await pathsOf(env, query)).length, 4, query);
  for (const query of ["cozum", "ÇÖZÜM", "ücgen", "UCGEN"]) assert.equal((await pathsOf(env, query)).length, 1, query);
});

test("words may come in any order, short words begin a name, and a slash names the folder", async () => {
  await env.completed("kelime", { "mart/fatura 2026.pdf": "1", "nisan/fatura 2026.pdf": "2", "mart/kv.pdf": "3" });
  assert.deepEqual((await pathsOf(env, "2026 fatura")).toSorted(), ["mart/fatura 2026.pdf", "nisan/fatura 2026.pdf"]);
  assert.deepEqual(await pathsOf(env, "kv"), ["mart/kv.pdf"]);
  assert.deepEqual(await pathsOf(env, "k"), ["mart/kv.pdf"]);
  assert.deepEqual(await pathsOf(env, "v.pdf"), ["mart/kv.pdf"]);
  assert.deepEqual(await pathsOf(env, "mart/fat"), ["mart/fatura 2026.pdf"]);
  assert.deepEqual(await pathsOf(env, "art/fat"), ["mart/fatura 2026.pdf"]);
  assert.deepEqual(await pathsOf(env, "mart/tura"), []);
  assert.deepEqual(await pathsOf(env, "fatura nisan"), [], "words are of the name");
});

test("wildcards and other signs stand for themselves", async () => {
  await env.completed("isaret", { "yuzde%100.txt": "1", "alt_cizgi.txt": "2", "a*b?c.txt": "3", "x\\y.txt": "4" });
  assert.deepEqual(await pathsOf(env, "%100"), ["yuzde%100.txt"]);
  assert.deepEqual(await pathsOf(env, "t_c"), ["alt_cizgi.txt"]);
  assert.deepEqual(await pathsOf(env, "*b?"), ["a*b?c.txt"]);
  assert.deepEqual(await pathsOf(env, "x\\y"), ["x\\y.txt"]);
  for (const query of ["%%%", "___", "%", "l_t_c", "z%z", "' or 1=1"])
    assert.deepEqual(await pathsOf(env, query), [], query);
});

test("names that are not UTF-8, that are very long, or that fold to much more are found", async () => {
  const odd = Buffer.concat([Buffer.from("odd/bozuk-"), Buffer.from([0x98, 0xff]), Buffer.from(".csv")]);
  const long = `${"u".repeat(1500)}son`;
  const swollen = "\ufdfa".repeat(80);
  await env.upload(
    "source=garip",
    Buffer.concat([
      member({ name: odd }, "1"),
      extendedHeader({ path: `g/${long}` }),
      member({ name: "s" }, "2"),
      extendedHeader({ path: `g/${swollen}` }),
      member({ name: "s" }, "3"),
      member({ name: "g/yatık／egik.txt" }, "4"),
      endMark,
    ]),
  );
  const [found] = (await search(env, "bozuk-")).data;
  assert.equal(Buffer.from(found?.path_base64 ?? "", "base64").toString("hex"), odd.toString("hex"));
  assert.deepEqual(await pathsOf(env, "bozuk-\ufffd"), [odd.toString()]);
  assert.deepEqual(await pathsOf(env, "u".repeat(200)), [`g/${long}`]);
  assert.deepEqual(await pathsOf(env, "\ufdfa"), [`g/${swollen}`]);
  assert.deepEqual(await pathsOf(env, "yatik／egik"), ["g/yatık／egik.txt"], "no slash of a path");
});

test("422 for what is no query; a query without a letter finds nothing", async () => {
  const get = async (query: string) => (await env.get(`/v1/search${query}`)).status;
  assert.equal(await get(""), 422);
  assert.equal(await get("?query="), 422);
  assert.equal(await get("?query=%20%20"), 422);
  assert.equal(await get(`?query=${"a".repeat(201)}`), 422);
  assert.equal(await get("?query=%00"), 422);
  assert.equal(await get("?query=a&query=b"), 400);
  assert.deepEqual(await pathsOf(env, "\u0301"), []);
  assert.deepEqual(await pathsOf(env, "/ //"), []);
});

test("pages of any size give every name once; a cursor belongs to its query", async () => {
  const files = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`sayfa/kayit-${i}.txt`, String(i)]));
  await env.completed("sayfa", files);
  for (const limit of [100, 7]) {
    const seen: string[] = [];
    for (let more = `&limit=${limit}`; ; ) {
      const page = await search(env, "kayit-", more);
      assert.ok(page.data.length <= limit);
      seen.push(...page.data.map(({ path }) => path));
      if (page.next_cursor === null) break;
      more = `&limit=${limit}&cursor=${page.next_cursor}`;
    }
    assert.deepEqual(seen.toSorted(), Object.keys(files).toSorted(), `${limit}`);
  }
  const { next_cursor: cursor } = await search(env, "kayit-", "&limit=1");
  assert.equal((await env.get(`/v1/search?query=kayit&cursor=${cursor}`)).json?.code, "invalid_cursor");
});

test("a deleted snapshot is not found any more at once, an undeleted one is", async () => {
  const { id } = await env.completed("silme", { "gecici-dosya.txt": "1" });
  assert.equal((await pathsOf(env, "gecici-dosya")).length, 1);
  const send = (method: string, path = "") =>
    env.service.send(method, `/v1/snapshots/${id}${path}`, { headers: owner });
  assert.equal((await send("DELETE")).status, 204);
  assert.deepEqual((await env.get("/v1/search?query=gecici-dosya")).json?.data, []);
  assert.equal((await send("POST", "/undelete")).status, 200);
  assert.equal((await pathsOf(env, "gecici-dosya")).length, 1);
});

test("a client that is held to vaults finds what is in these, by any filter; others find nothing of the account", async () => {
  const taxpayer = await makeTaxpayer(env.service, owner, "Deniz Örnek");
  const vault = await makeVault(env.service, owner, "Ayrı");
  for (const id of [taxpayer.vault_id, vault])
    await env.upload(`source=kasa&vault_id=${id}`, tarOf({ [`ortak-ad-${id}.txt`]: "1" }));
  const held = await env.as({ as: "client", kind: "api", vaultIds: [vault] });
  assert.equal((await pathsOf(env, "ortak-ad")).length, 2);
  assert.deepEqual(await pathsOf(env, "ortak-ad", "", held), [`ortak-ad-${vault}.txt`]);
  const page = await search(env, "ortak-ad", "", held);
  assert.notEqual(page.projection.snapshot_id, null);
  for (const more of [`&vault_id=${taxpayer.vault_id}`, `&taxpayer_id=${taxpayer.id}`]) {
    assert.equal((await pathsOf(env, "ortak-ad", more)).length, 1, more);
    const none = await search(env, "ortak-ad", more, held);
    assert.deepEqual([none.data, none.projection.snapshot_id], [[], null], more);
  }
  assert.equal((await pathsOf(env, "ortak-ad", `&vault_id=${vault}`, held)).length, 1);
  const stranger = (await tokenFor(env.service, { as: "client", kind: "api" })).auth;
  const foreign = await search(env, "ortak-ad", `&vault_id=${vault}`, stranger);
  assert.deepEqual([foreign.data, foreign.projection], [[], { snapshot_id: null, created_at: null, waiting: 0 }]);
});

test("the database has no name in clear text", async () => {
  await env.completed("gizli", { "cok-gizli-isim.txt": "1" });
  assert.equal((await pathsOf(env, "cok-gizli")).length, 1);
  const rows = await accountRows(
    env,
    sql<{ text: string }>`select to_jsonb(p)::text || encode(sealed, 'escape') as text from projected_paths p
      union all select to_jsonb(g)::text || encode(offsets, 'escape') from projected_grams g
      union all select to_jsonb(v)::text from projected_versions v`,
  );
  assert.ok(rows.length > 0 && rows.every(({ text }) => !text.includes("gizli")));
});
