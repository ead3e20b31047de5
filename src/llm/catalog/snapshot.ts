import data from "./catalog.generated.json" with { type: "json" }

/** Import this file only dynamically, as `catalog.ts` does: the data is large. */
export const snapshot = data
