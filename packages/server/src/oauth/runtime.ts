/**
 * When the library is imported on a Node that is not a long-term release, it prints a warning to standard error, without
 * the log and its allow-list. This service has its own Node version and is tested with it, so this file prevents the
 * warning.
 */

Object.assign(process.release, { lts: process.release.lts ?? "Pinned" });
