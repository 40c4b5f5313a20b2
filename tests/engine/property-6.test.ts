import { propertyTests } from "./testing/property-cases.ts";

propertyTests(6);
