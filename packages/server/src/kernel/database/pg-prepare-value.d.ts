/** A part of `pg` without types of its own. */
declare module "pg/lib/utils.js" {
  /** The form in which `pg` sends a value: text, bytes or null. */
  export function prepareValue(value: unknown): string | Buffer | null;
}
