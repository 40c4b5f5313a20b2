/** Flow 6, team and security. Flow 7, usage and limits. Flow 8, staff. */

import assert from "node:assert/strict";
import { codeAt } from "../../../packages/server/src/identity/factors/totp.ts";
import { makeTaxpayer } from "../../../packages/server/src/taxpayers/testing.ts";
import { makeBearer, tokenFor } from "../../../packages/server/src/testing/accounts.ts";
import { storedRows } from "../../../packages/server/src/testing/rows.ts";
import { factorAgeMs } from "../testing.ts";
import { type Bench, confirm, openStage, type Run, type Stage, seen, withStaff } from "./stage.ts";

const nameOf = ({ language, input, theme, width }: Run): string => `${language} ${input} ${theme} ${width}`;

async function backedUp({ office, program }: Bench, name: string): Promise<void> {
  const { vault_id: vaultId } = await makeTaxpayer(office.service, await program.auth(), name);
  await program.backUp(vaultId, { "gizli-defter.xml": `<defter>${name}</defter>` });
}

/** Invite, resend, change, remove; the last owner and why not; sessions, recovery codes, authenticator, SMS; a reset is decided. */
export async function teamAndSecurity(bench: Bench, run: Run): Promise<void> {
  const { service, accountId } = bench.office;
  const { personId } = await makeBearer(service, { accountId, role: "operator" });
  assert.ok(personId !== null);
  const isOn = { sms_sign_in: true };
  const on = await service.send("PATCH", "/v1/account", { json: isOn, headers: await ownerToken(bench) });
  assert.equal(on.status, 200, on.body.toString());
  const staff = await tokenFor(service, { as: "staff" });
  const json = { reason: "Telefonu kayboldu" };
  const target = `/v1/admin/members/${personId}/reset-second-factor`;
  const asked = await service.send("POST", target, { json, headers: staff.auth });
  assert.equal(asked.status, 202, asked.body.toString());
  // Those of the runs before were sent a day earlier: an account sends 20 in a day.
  const earlier = "update emanet.invitations set sent_at = sent_at - interval '1 day' where account_id = $1";
  await storedRows(service.database, earlier, [accountId]);
  service.clock.advance(factorAgeMs);
  const stage = await openStage(bench, run, bench.owner, "/app/settings?tab=team");
  const { hand, button, w, page } = stage;
  await decideReset(stage, personId);
  await team(stage);
  await hand.press(page.locator(".settings-nav, nav").getByRole("link", { name: w("Güvenlik", "Security") }));
  await page.getByText(w("Bu oturum", "This session")).waitFor();
  await sessions(stage);
  await factors(stage);
  await hand.press(
    button(w("Kapat", "Turn off"), page.locator(".row", { hasText: w("SMS ile oturum açma", "Sign-in by SMS") })),
  );
  await page.locator(".row .tag-ok", { hasText: w("Kapalı", "Off") }).waitFor();
  // The next run finds the team as this one did.
  const headers = { ...(await ownerToken(bench)), "if-match": "*" };
  const removed = await service.send("DELETE", `/v1/members/${personId}`, { headers });
  assert.equal(removed.status, 204, removed.body.toString());
}

/** Another token of the owner: no second owner is made. */
async function ownerToken(bench: Bench): Promise<{ readonly authorization: string }> {
  return (await otherSession(bench)).auth;
}

async function otherSession({ office: { service, login, accountId } }: Bench) {
  const query = "select id from emanet.people where email = $1";
  const [person] = await storedRows<{ id: string }>(service.database, query, [login.email]);
  return tokenFor(service, { accountId, personId: person?.id ?? "" });
}

async function decideReset(stage: Stage, personId: string): Promise<void> {
  const { page, hand, w, button, bench } = stage;
  const text = w("Doğrulama sıfırlaması bekliyor", "A second-factor reset waits");
  const row = page.locator(".member-row", { hasText: `${personId}@` });
  const waits = row.getByText(text, { exact: false });
  await waits.waitFor();
  await seen(stage, "team");
  await hand.press(button(w("Karar ver", "Decide"), row));
  await hand.press(button(w("İsteği reddet", "Refuse the request")));
  await confirm(stage, bench.office.login);
  await waits.waitFor({ state: "detached" });
}

async function team(stage: Stage): Promise<void> {
  const { page, run, number, hand, w, button } = stage;
  const [name, email] = [`Mert ${nameOf(run)}`, `mert-${number}@ofis.example`];
  const last = button(/^Ayşe Örnek: (?:Çıkar|Remove)/);
  assert.match((await last.getAttribute("title")) ?? "", /Son sahip|last owner/);
  await hand.press(button(w("Üye davet et", "Invite a member")));
  const dialog = page.getByRole("dialog");
  await hand.type(dialog.getByLabel(w("Ad soyad", "Full name")), name);
  await hand.type(dialog.getByLabel(w("E-posta", "E-mail")), email);
  await hand.pick(dialog.getByRole("radio", { name: w("İzleyici", "Viewer") }));
  await seen(stage, "invite");
  await hand.press(button(w("Daveti gönder", "Send invitation"), dialog));
  await dialog.waitFor({ state: "detached" });
  await hand.press(button(`${name}: ${w("Yeniden gönder", "Send again")}`));
  await page.getByText(w(`Davet ${email} adresine`, `The invitation was sent to ${email}`), { exact: false }).waitFor();
  await hand.press(button(`${name}: ${w("Rolü değiştir", "Change role")}`));
  await hand.pick(dialog.getByRole("radio", { name: w("Operatör", "Operator") }));
  await hand.press(button(w("Kaydet", "Save"), dialog));
  const row = page.locator(".member-row", { hasText: name });
  await row.getByText(w("Operatör", "Operator"), { exact: false }).waitFor();
  await hand.press(button(`${name}: ${w("Çıkar", "Remove")}`));
  await hand.press(button(w("Çıkar", "Remove"), dialog));
  await row.waitFor({ state: "detached" });
}

async function sessions(stage: Stage): Promise<void> {
  const { bench, page, hand, w, button } = stage;
  const { service } = bench.office;
  const other = await otherSession(bench);
  await page.reload();
  await hand.press(button(w("Diğerlerini kapat", "End the others")));
  await hand.press(button(w("Diğerlerini kapat", "End the others"), page.getByRole("dialog")));
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await button(w("Diğerlerini kapat", "End the others")).waitFor({ state: "detached" });
  assert.equal((await service.send("GET", "/v1/me", { headers: other.auth })).status, 401);
  await seen(stage, "security");
}

/** New recovery codes; then another authenticator, which from now on is the person's. */
async function factors(stage: Stage): Promise<void> {
  const { bench, page, hand, w, button } = stage;
  const { login, service } = bench.office;
  const codes = page.getByRole("dialog", {
    name: w("Bu kodlar bir daha gösterilmez", "These codes are shown only once"),
  });
  const done = async () => {
    await codes.waitFor();
    assert.equal(await codes.locator("code").count(), 10);
    await hand.press(button(w("Kapat", "Close"), codes).last());
    await codes.waitFor({ state: "detached" });
  };
  await hand.press(button(w("Kurtarma kodları: Yeni kodlar al", "Recovery codes: Make new codes")));
  await hand.press(button(w("Yeni kodlar al", "Make new codes"), page.getByRole("dialog")));
  await done();
  await hand.press(button(w("Doğrulama uygulaması: Yenile", "Authenticator: Renew")));
  const dialog = page.getByRole("dialog", { name: w("Doğrulama uygulaması", "Authenticator") });
  const secret = await dialog.locator(".secret code").innerText();
  await seen(stage, "new authenticator");
  const field = dialog.getByLabel(w("Yeni uygulamanın kodu", "Code of the new authenticator"));
  await hand.type(field, codeAt(secret, service.clock.now()));
  await hand.press(button(w("Yenisine geç", "Switch to the new one"), dialog));
  await done();
  Object.assign(login, { totp_secret: secret });
}

/** An account has one open request per limit; a run before left its own. */
async function closeRequests({ office: { service } }: Bench): Promise<void> {
  const { auth: headers } = await tokenFor(service, { as: "staff" });
  const open = await service.send("GET", "/v1/admin/rate-limit-requests?state=pending&limit=100", { headers });
  assert.equal(open.status, 200, open.body.toString());
  for (const { id } of (open.json as { data: readonly { id: string }[] }).data) {
    const json = { reason: "Sözleşme yetmiyor" };
    const done = await service.send("POST", `/v1/admin/rate-limit-requests/${id}/reject`, { json, headers });
    assert.equal(done.status, 200, done.body.toString());
  }
}

/** The quota and when it is full, the vaults, what is left of each limit; a corporate account asks for more. */
export async function usageAndLimits(bench: Bench, run: Run): Promise<void> {
  const { service } = bench.office;
  await backedUp(bench, `Dolan ${nameOf(run)}`);
  await closeRequests(bench);
  const headers = await ownerToken(bench);
  const vaults = await service.send("GET", "/v1/vaults?limit=100", { headers });
  for (const { id } of (vaults.json as { data: readonly { id: string }[] }).data) {
    await service.send("PATCH", `/v1/vaults/${id}`, { json: { quota_bytes: 1_000_000_000 }, headers });
  }
  const stage = await openStage(bench, run, bench.owner, "/app/settings");
  const { page, hand, w, button, link } = stage;
  await hand.press(link(w("Kullanım ve sınırlar", "Usage and limits"), page.locator("main")));
  await page.getByRole("heading", { name: w("kotanın", "used") }).waitFor();
  await page.getByText(w("Bu hızla", "At this rate"), { exact: false }).waitFor();
  await page.getByRole("rowheader", { name: `Dolan ${nameOf(run)}` }).waitFor();
  await page.getByText(w("Bütün API istekleri", "All API requests")).waitFor();
  await seen(stage, "usage");
  await hand.press(button(w("Daha fazlasını iste", "Ask for more")));
  const dialog = page.getByRole("dialog");
  await hand.choose(
    dialog.getByLabel(w("Sınır", "Limit"), { exact: true }),
    w("Geri yükleme başlatma", "Starting restores"),
  );
  await hand.type(dialog.getByLabel(w("İstek sayısı", "Requests")), String(500 + stage.number));
  await hand.type(dialog.getByLabel(w("Neden gerekiyor?", "Why do you need it?")), "Ay sonu denetimi");
  await seen(stage, "ask for more");
  await hand.press(button(w("İsteği gönder", "Send request"), dialog));
  await page.getByText(w(`${500 + stage.number} istek`, `${500 + stage.number} requests`), { exact: false }).waitFor();
}

async function apply({ office: { service } }: Bench, company: string, email: string): Promise<void> {
  const sent = await service.send("POST", "/applications", {
    json: {
      ...{ kind: "company", full_name: "Deniz Kaya", email, phone: "+905321234567", company_name: company },
      ...{ tax_id: "1234567808", package: "professional", consents: { terms: true, privacy: true } },
    },
  });
  assert.ok(sent.status < 300, sent.body.toString());
}

/** The queue: one approved, one rejected; the account suspended, resumed, its package and limit changed; a ban lifted. */
export async function staff(bench: Bench, run: Run): Promise<void> {
  const { service } = bench.office;
  const [first, second] = [`Bir ${nameOf(run)}`, `İki ${nameOf(run)}`];
  await backedUp(bench, `Gizli ${nameOf(run)}`);
  await withStaff(bench, async (opened) => {
    await apply(bench, second, `iki-${Math.abs(hash(nameOf(run)))}@ofis.example`);
    // The newest is the first of the queue.
    service.clock.advance(1_000);
    await apply(bench, first, `bir-${Math.abs(hash(nameOf(run)))}@ofis.example`);
    const stage = await openStage(bench, run, opened, "/");
    await queue(stage, first, second);
    await account(stage, first);
    await bans(stage);
    assert.doesNotMatch(await stage.page.content(), /gizli-defter/);
  });
}

async function queue(stage: Stage, first: string, second: string): Promise<void> {
  const { run, page, hand, w, button } = stage;
  const detail = (name: string) => page.getByRole("region", { name });
  await detail(first).waitFor();
  await seen(stage, "queue");
  if (run.input === "keyboard") await page.keyboard.press("j");
  else await hand.press(button(new RegExp(second)));
  await detail(second).waitFor();
  await decide(stage, second, w("Reddet", "Reject"));
  await detail(first).waitFor();
  await decide(stage, first, w("Onayla", "Approve"));
}

async function bans(stage: Stage): Promise<void> {
  const { bench, number, page, hand, w, button } = stage;
  const { service } = bench.office;
  const { auth } = await tokenFor(service, { as: "staff" });
  const ban = { kind: "address", subject: `203.0.113.${number}`, hours: 1, reason: "Deneme engeli" };
  const made = await service.send("POST", "/v1/admin/bans", { json: ban, headers: auth });
  assert.equal(made.status, 201, made.body.toString());
  await hand.press(page.locator(".staff-nav").getByRole("link", { name: w("Engeller", "Bans") }));
  const lift = button(`${ban.subject}: ${w("Kaldır", "Lift")}`);
  await hand.press(lift);
  await giveReason(stage, w("Kaldır", "Lift"));
  await lift.waitFor({ state: "detached" });
  await seen(stage, "bans");
}

/** Always the same number for a text, for addresses of mail. */
const hash = (text: string): number =>
  [...text].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) | 0, 7);

async function decide(stage: Stage, name: string, act: string): Promise<void> {
  const { page, hand, button } = stage;
  await hand.press(button(act, page.getByRole("region", { name })).first());
  await giveReason(stage, act);
}

async function giveReason(stage: Stage, act: string): Promise<void> {
  const { page, hand, w, button } = stage;
  const dialog = page.getByRole("dialog");
  await hand.type(dialog.getByLabel(w("Neden", "Reason")), "Belgelere bakıldı");
  await seen(stage, "reason");
  await hand.press(button(act, dialog));
  await dialog.waitFor({ state: "detached" });
}

async function account(stage: Stage, name: string): Promise<void> {
  const { page, hand, w, button } = stage;
  await hand.press(page.locator(".staff-nav").getByRole("link", { name: w("Hesaplar", "Accounts") }));
  await hand.press(button(new RegExp(name), page.locator(".staff-list")));
  const detail = page.getByRole("region", { name });
  await decide(stage, name, w("Askıya al", "Suspend"));
  await detail.getByText(w("Askıda", "Suspended"), { exact: true }).waitFor();
  await decide(stage, name, w("Askıdan al", "Resume"));
  await detail.getByText(w("Etkin", "Active"), { exact: true }).waitFor();
  await seen(stage, "account");
  await hand.press(button(w("Paketi değiştir", "Change package"), detail));
  const dialog = page.getByRole("dialog");
  const corporate = w("Kurumsal paket", "Corporate package");
  await hand.choose(dialog.getByLabel(w("Paket", "Package")), corporate);
  await giveReason(stage, w("Paketi değiştir", "Change package"));
  await detail.getByText(corporate).waitFor();
  await decide(stage, name, w("Sınır koy", "Set a limit"));
}
