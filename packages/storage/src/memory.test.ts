import { MemoryStore } from "./memory.ts";
import { conformance } from "./testing/conformance.ts";

conformance("memory", async () => {
  const store = new MemoryStore();
  return { open: async () => store };
});
