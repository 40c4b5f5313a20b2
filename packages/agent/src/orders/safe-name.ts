/** Names of files for a platform. Windows takes some characters for separators and some names for devices; there they are written in another way. */

/** What Windows does not allow in a name. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are among them
const forbidden = /[\u0000-\u001f<>:"/\\|?*%]/g;

/** Names that Windows takes for devices, also with an extension. */
const devices = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i;

/** A name that stands for one entry of a folder on this platform. `%` and two digits stand for what is not allowed. */
export function safeName(name: Buffer, platform: NodeJS.Platform): Buffer {
  if (platform !== "win32") return name;
  const escaped = (letter: string) => `%${letter.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
  const text = name.toString("utf8").replace(forbidden, escaped).replace(/[. ]$/, escaped);
  return Buffer.from(devices.test(text) ? `${escaped(text[0] ?? "")}${text.slice(1)}` : text);
}

/** `fatura.xml` as `fatura (2).xml`: the name that a file gets where one is there already. */
export function otherName(name: Buffer, number: number): Buffer {
  const dot = name.lastIndexOf(0x2e);
  const end = dot <= 0 ? name.length : dot;
  return Buffer.concat([name.subarray(0, end), Buffer.from(` (${number})`), name.subarray(end)]);
}
