/**
 * Runs `main.ts` once for each of several environments, in one process: the first run loads the modules of the service, which is
 * most of what a start that fails costs. Prints a line of JSON for each: its exit code, null if it has not ended, and what it wrote
 * to standard error. A start that does not fail goes on until this process is killed.
 *
 *   fail-starts.ts <list of environments as JSON>
 */

const environments = JSON.parse(process.argv[2] ?? "[]") as Record<string, string>[];
process.argv.splice(2);

for (const [at, environment] of environments.entries()) {
  process.env = { ...environment };
  let [code, errors]: [number | null, string] = [null, ""];
  process.stderr.write = (text: string | Uint8Array) => {
    errors += String(text);
    return true;
  };
  Object.assign(process, {
    exit(given: number) {
      code = given;
      throw new Error("ended");
    },
  });
  // Another name for the same file: it runs again, and what it imports is loaded already.
  await import(`../../main.ts?run=${at}`).catch((error: unknown) => {
    if (code === null) errors += String(error);
  });
  process.stdout.write(`${JSON.stringify({ code, errors })}\n`);
}
