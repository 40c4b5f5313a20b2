/** For tests of object stores and of what uses them. */

export { type ConformanceOptions, conformance, type Place } from "./conformance.ts";
export { patternStream, rejectsWith, seededBytes } from "./conformance-bodies.ts";
export {
  type Fault,
  type FaultPlan,
  type FaultyOptions,
  FaultyStore,
  faultAt,
  randomFaults,
  type StoreCall,
  StoreCrash,
  scripted,
  seededRandom,
} from "./faulty.ts";
