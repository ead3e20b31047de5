import { expect, test } from "vitest"

import { storeRow } from "./session-store.ts"

test.each([
  ["store_open_ms", { name: "store open", unit: "ms", ours: 7 }],
  ["store_append_per_s", { name: "store append", unit: "per s", ours: 7 }],
  ["store_build_s", { name: "store build", unit: "s", ours: 7 }],
])("the name and the unit of %s are derived from its key", (name, row) => {
  expect(storeRow(name, 7)).toMatchObject(row)
})
