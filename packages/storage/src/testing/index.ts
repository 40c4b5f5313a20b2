/** For tests of object stores and of what uses them. */

export { patternStream, rejectsWith, seededBytes } from "./bodies.ts";
export { type ConformanceOptions, conformance, type Place } from "./conformance.ts";
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
