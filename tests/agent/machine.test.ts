/** The verbs about the machine: `doctor` explains, `schedule` speaks every system's language, `completion` knows every verb. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { after, describe, test } from "node:test";
import { verbNames } from "../../packages/agent/src/command-line/verbs.ts";
import { readEnvironment } from "../../packages/agent/src/config.ts";
import { planSchedule, shellWord, windowsWord } from "../../packages/agent/src/schedule/schedulers.ts";
import { makeClient } from "../../packages/server/src/accounts/testing.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { agentOf, type RunOptions, startForAgents, TestAgent } from "./testing.ts";

const world = await startForAgents({ after });
const main = path.resolve(import.meta.dirname, "../../packages/agent/src/main.ts");

describe("doctor", async () => {
  const agent = await agentOf({ after }, world);
  const checks = async (options: RunOptions = {}) => {
    const { code, lines } = await agent.run(["doctor", "--json"], options);
    const wrong = lines.filter(({ ok }) => ok === false);
    return { code, wrong: wrong.map(({ check }) => check), text: JSON.stringify(wrong) };
  };

  test("finds nothing where all is well", async () => {
    assert.deepEqual(await checks(), { code: 0, wrong: [], text: "[]" });
  });

  const cases: Readonly<Record<string, readonly [options: RunOptions, check: string, words: RegExp]>> = {
    "a wrong clock": [{ context: { now: () => Date.now() + 3 * 3_600_000 } }, "clock", /3 h 0 min ahead/],
    "a clock that is behind": [{ context: { now: () => Date.now() - 3_600_000 } }, "clock", /behind the service's/],
    "an unknown authority": [{ environment: { caFile: null } }, "certificate", /authority .* not known.*ca-file/],
    "no service": [{ environment: { url: "https://127.0.0.1:1" } }, "network", /ECONNREFUSED/],
    "no name": [{ environment: { url: "https://yok.invalid" } }, "network", /not known|cannot be looked up/],
    "a wrong credential": [
      { environment: { clientSecret: "wrong" } },
      "credential",
      /expired, was revoked or is wrong/,
    ],
    "a full disk": [{ context: { freeBytes: () => 0 } }, "disk", /full/],
  };
  for (const [name, [options, check, words]] of Object.entries(cases))
    test(`explains ${name}`, async () => {
      const { code, wrong, text } = await checks(options);
      assert.deepEqual([code, wrong], [1, [check]], text);
      assert.match(text, words);
    });

  test("explains a disk that is full and a machine without network, as a process that has such ones", async (t) => {
    const folder = await temporaryFolder(t);
    const { url, caFile, clientId, clientSecret } = agent.environment;
    const env = {
      ...{ PATH: process.env.PATH, HOME: folder, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
      ...{ EMANET_URL: url ?? "", EMANET_CA_FILE: caFile ?? "" },
      ...{ EMANET_CLIENT_ID: clientId ?? "", EMANET_CLIENT_SECRET: clientSecret ?? "" },
    };
    const unshare = ["--user", "--map-root-user", "--mount", "--net"];
    if (spawnSync("unshare", [...unshare, "mount", "-t", "tmpfs", "none", folder]).status !== 0)
      return t.skip("this system makes no namespaces");
    const command = `mount -t tmpfs -o size=64k none "$HOME" && exec "${process.execPath}" "${main}" doctor --json`;
    const { stdout, stderr, status } = spawnSync("unshare", [...unshare, "sh", "-c", command], {
      env,
      encoding: "utf8",
    });
    const found = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
    const wrong = found.filter(({ ok }) => ok === false).map(({ check, message }) => `${check}: ${message}`);
    assert.equal(status, 1, stderr);
    assert.match(wrong[0] ?? "", /^disk: the disk of .* is full: .* are free$/);
    assert.match(wrong[1] ?? "", /^network: this machine has no network \(ENETUNREACH\)$/);
  });

  test("explains a credential that has ended, and secrets that others can read", async (t) => {
    const { auth } = await tokenFor(world.service, { accountId: world.demo.account_id });
    const { client, secret, target } = await makeClient(world.service, auth, { scopes: ["snapshots:write"] });
    const ended = await agentOf(t, world, { id: client.id, secret });
    await world.service.send("DELETE", target, { headers: auth });
    const { lines } = await ended.run(["doctor", "--json"]);
    assert.deepEqual(
      lines.filter(({ ok }) => ok === false).map(({ check }) => check),
      ["credential"],
    );
    mkdirSync(agent.environment.stateFolder, { recursive: true });
    chmodSync(agent.environment.stateFolder, 0o755);
    assert.deepEqual((await checks()).wrong, ["disk"]);
    chmodSync(agent.environment.stateFolder, 0o700);
  });
});

const schedule = {
  name: "ofis",
  description: "Emanet: Ofis & %oran",
  command: ["/usr/bin/node", "/opt/emanet.mjs", "backup", "/srv/Ofis 100% $x", '--exclude="a b"\\'],
  hour: 2,
  minute: 5,
  home: "/home/test",
} as const;

describe("schedule", () => {
  test("systemd: a timer that also runs after the machine was off; words are escaped", () => {
    const { files, commands, undo } = planSchedule("systemd", schedule);
    assert.deepEqual(
      files.map((file) => file.path),
      ["/home/test/.config/systemd/user/emanet-ofis.service", "/home/test/.config/systemd/user/emanet-ofis.timer"],
    );
    assert.match(
      files[0]?.content ?? "",
      /ExecStart="\/usr\/bin\/node" .*"\/srv\/Ofis 100%% \$\$x" "--exclude=\\"a b\\"\\\\"/,
    );
    assert.match(files[1]?.content ?? "", /OnCalendar=\*-\*-\* 02:05:00\nPersistent=true/);
    assert.deepEqual(commands.at(-1), ["systemctl", "--user", "enable", "--now", "emanet-ofis.timer"]);
    assert.equal(undo.files.length, 2);
  });

  test("cron: one line, which a shell reads as the same words", () => {
    const { cron } = planSchedule("cron", schedule);
    assert.match(cron?.line ?? "", /^5 2 \* \* \* .* # emanet ofis$/);
    const words = (cron?.line ?? "")
      .slice("5 2 * * * ".length)
      .replace(/ # emanet ofis$/, "")
      .replaceAll("\\%", "%");
    const { stdout } = spawnSync("sh", ["-c", `printf '%s\\n' ${words}`], { encoding: "utf8" });
    assert.deepEqual(stdout.trimEnd().split("\n"), [...schedule.command]);
  });

  test("launchd and the Task Scheduler: XML with every word; Windows quotes as its programs read", () => {
    const [plist] = planSchedule("launchd", schedule).files;
    assert.match(plist?.content ?? "", /<string>--exclude=&quot;a b&quot;\\<\/string>/);
    assert.equal(plist?.path, "/home/test/Library/LaunchAgents/tr.emanet.ofis.plist");
    const tasks = planSchedule("tasks", { ...schedule, home: "C:\\Users\\test" });
    assert.equal(tasks.files[0]?.path, "C:\\Users\\test\\AppData\\Local\\Emanet\\ofis.xml");
    assert.match(tasks.files[0]?.content ?? "", /<Description>Emanet: Ofis &amp; %oran<\/Description>/);
    assert.match(tasks.files[0]?.content ?? "", /StartWhenAvailable>true/);
    assert.deepEqual(tasks.commands[0]?.slice(0, 5), ["schtasks", "/Create", "/F", "/TN", "\\Emanet\\ofis"]);
    assert.deepEqual(["a", "a b", 'a"b', "a b\\", ""].map(windowsWord), ["a", '"a b"', '"a\\"b"', '"a b\\\\"', '""']);
    assert.equal(shellWord("it's"), "'it'\\''s'");
  });

  test("writes the files of its system, replaces only its own line of a crontab, and removes them again", async (t) => {
    const agent = new TestAgent(await temporaryFolder(t));
    const args = ["schedule", agent.folder, "--source", "Gece Yedeği", "--at", "03:30"];
    assert.equal((await agent.run(args)).code, 4, "a stored sign-in is needed");
    const { service, demo, caFile } = world;
    const login = ["login", "--url", service.url, "--ca-file", caFile, "--client-id", demo.client_id];
    await agent.run([...login, "--client-secret-file", "-"], { stdin: demo.client_secret });
    let table = "0 1 * * * benim işim\n";
    const execute = (command: readonly string[], input?: string) => {
      if (command[1] === "-") table = input ?? "";
      return { code: 0, output: table };
    };
    for (const at of ["03:30", "04:45"])
      await agent.run([...args.slice(0, -1), at, "--with", "cron"], { context: { execute } });
    assert.match(table, /^0 1 \* \* \* benim işim\n45 4 \* \* \* .*--source=Gece Yedeği.*\n$/);
    await agent.run(["schedule", "--source", "Gece Yedeği", "--with", "cron", "--remove"], { context: { execute } });
    assert.equal(table, "0 1 * * * benim işim\n");
    const ran: string[] = [];
    const record = (command: readonly string[]) => {
      ran.push(command.join(" "));
      return { code: 0, output: "" };
    };
    for (const words of [[path.join(agent.folder, "yok")], [agent.folder, "--exclude-file=yok.txt"]]) {
      const ended = await agent.run(["schedule", ...words, "--source", "Gece Yedeği"], {
        context: { execute: record },
      });
      assert.equal(ended.code, 2, words.join(" "));
      assert.match(ended.stderr, /not found: .*yok/);
    }
    assert.equal(ran.length, 0, "a folder or a list that is not there is not scheduled");
    await agent.run([...args, "--with", "systemd"], { context: { execute: record } });
    const [timer = ""] = ran.at(-1)?.match(/emanet-gece.*timer/) ?? [];
    assert.ok(readFileSync(path.join(agent.folder, ".config/systemd/user", timer), "utf8").includes("03:30"));
    await agent.run([...args, "--with", "systemd", "--remove"], { context: { execute: record } });
    assert.equal(existsSync(path.join(agent.folder, ".config/systemd/user", timer)), false);
    for (const platform of ["darwin", "win32"] as const) {
      const ended = await agent.run([...args, "--print", "--json"], { environment: { platform } });
      assert.equal(ended.last.scheduler, platform === "darwin" ? "launchd" : "tasks");
    }
  });
});

test("folders follow the customs of each system; Turkish is spoken where the locale says so", () => {
  const of = (platform: NodeJS.Platform, home: string, more = {}) => readEnvironment({ ...more }, platform, home);
  assert.equal(of("linux", "/home/a").stateFolder, "/home/a/.config/emanet");
  assert.equal(of("darwin", "/Users/a").cacheFolder, "/Users/a/Library/Caches/Emanet");
  assert.equal(of("win32", "C:\\Users\\a").stateFolder, "C:\\Users\\a\\AppData\\Local\\Emanet");
  assert.equal(of("linux", "/h", { XDG_CONFIG_HOME: "/x", EMANET_CACHE_DIR: "/y" }).stateFolder, "/x/emanet");
  const language = (variables: Readonly<Record<string, string>>) => readEnvironment(variables, "linux", "/h").language;
  assert.deepEqual([{ LANG: "tr_TR.UTF-8" }, { LANG: "tr_TR", LC_ALL: "C" }, { LANG: "tru" }, {}].map(language), [
    "tr",
    "en",
    "en",
    "en",
  ]);
});

test("a verb takes as many words as its help says", async (t) => {
  const agent = new TestAgent(await temporaryFolder(t));
  for (const words of [
    ["snapshots", "fazla"],
    ["ls", "latest", "klasör", "fazla"],
    ["find", "fatura", "fazla"],
    ["diff", "a", "b", "fazla"],
    ["check", "latest", "fazla"],
    ["prune", "fazla", "--repo", "x"],
    ["orders", "--", "fazla"],
  ]) {
    const ran = await agent.run(words);
    assert.equal(ran.code, 2, words.join(" "));
    assert.match(ran.stderr, /does not take fazla: emanet \w+/);
  }
  for (const words of [["ls"], ["backup", "a", "b", "c"], ["restore", "latest", "a", "b", "c"], ["check", "latest"]])
    assert.doesNotMatch((await agent.run(words)).stderr, /does not take/, words.join(" "));
});

test("completion scripts know every verb, and bash accepts its own", async (t) => {
  const agent = new TestAgent(await temporaryFolder(t));
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, stdout } = await agent.run(["completion", shell]);
    assert.equal(code, 0);
    for (const verb of verbNames) assert.ok(stdout.includes(verb), `${shell} ${verb}`);
  }
  const { stdout: script } = await agent.run(["completion", "bash"]);
  const asked = `${script}\nCOMP_WORDS=(emanet backup --excl); COMP_CWORD=2; _emanet; echo "\${COMPREPLY[@]}"`;
  const { stdout } = spawnSync("bash", ["-c", asked], { encoding: "utf8" });
  assert.equal(stdout.trim(), "--exclude --exclude-file --exclude-caches");
  assert.equal((await agent.run(["completion", "tcsh"])).code, 2);
});
