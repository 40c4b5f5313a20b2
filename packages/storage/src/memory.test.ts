import { conformance } from "./conformance.ts";
import { MemoryStore } from "./memory.ts";

conformance("memory", async () => {
  const store = new MemoryStore();
  return { open: async () => store };
});
