/** What other packages need to test their implementations of the engine's ports. Production code does not load it. */

export { decodeBlockList, encodeBlockList } from "../format/block-list.ts";
export { openFrame } from "../format/frame.ts";
export * from "./catalog-conformance.ts";
export * from "./catalog-content.ts";
export * from "./catalog-fixture.ts";
export { sealFalseFrames } from "./false-frames.ts";
export { SeededRandom } from "./random-tree.ts";
export { playActors, type SimulatedCatalogs, simulatedProcess } from "./simulation.ts";
export * from "./target-doubles.ts";
export { testEnvironmentOf } from "./test-environment.ts";
export * from "./upload-target-conformance.ts";
