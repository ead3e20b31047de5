import data from "./catalog.generated.json" with { type: "json" }

/** Only `catalog.ts` loads this file, when the first question about a model comes up. */
export const snapshot = data
