/** Ids as they are written: in answers, addresses, keys of limits. */

/** Small letters only: an id in other letters is not one of ours. */
const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}
