// parts: 8

import { propertyTests } from "./testing/property-cases.ts";

propertyTests(process.env.EMANET_TEST_PART);
