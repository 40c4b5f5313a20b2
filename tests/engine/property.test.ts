// heavy parts: 8
// long: 12 s

import { propertyTests } from "./testing/property-cases.ts";

propertyTests(process.env.EMANET_TEST_PART);
