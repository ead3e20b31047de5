import { expect, test } from "vitest"

import { storeRow } from "./session-store.ts"

test.each([
  ["store_open_ms", { name: "store open", unit: "ms", ours: 7, target: { atMost: 50 } }],
  ["store_append_per_s", { name: "store append", unit: "per s", ours: 7, target: { atLeast: 2000 } }],
  ["store_build_s", { name: "store build", unit: "s", ours: 7 }],
])("the figure %s has its unit and its limit", (name, row) => {
  expect(storeRow(name, 7)).toEqual(row)
})
