/**
 * Members: the people of an account, and the person who asks (`/v1/me`). Owns no table; people are in `accounts`.
 *
 * Invariant: the last owner of an account cannot be removed or demoted.
 */

