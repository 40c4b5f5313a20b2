/** What other packages need to test their implementations of the engine's ports. Production code does not load it. */

export * from "./target-doubles.ts";
export * from "./upload-target-conformance.ts";
