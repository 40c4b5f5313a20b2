import { propertyTests } from "./property-cases.ts";

propertyTests(1);
