/**
 * The library looks at the Node that it runs on when it is imported and, on one that is not yet a long-term release,
 * writes a warning to standard error, past the log and its allow-list. This service brings its own Node, and its tests
 * run on that one, so the question is answered before it is asked.
 */

Object.assign(process.release, { lts: process.release.lts ?? "Pinned" });
