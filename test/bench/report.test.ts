import { expect, test } from "vitest"

import type { Row } from "./measurement.ts"
import { compared, median } from "./measurement.ts"
import { meetsTarget, renderTable, rowResult } from "./report.ts"

test.each<[values: number[], expected: number]>([
  [[7], 7],
  [[9, 1, 5], 5],
  [[10, 2, 4, 8], 6],
])("the median of %j is %d", (values, expected) => {
  expect(median(values)).toBe(expected)
})

test("an empty list has no median", () => {
  expect(() => median([])).toThrow("has no median")
})

test.each<[row: Pick<Row, "ours" | "floor" | "target">, expected: boolean | undefined]>([
  [{ ours: 20, floor: 10, target: { ratio: 2 } }, true],
  [{ ours: 20.1, floor: 10, target: { ratio: 2 } }, false],
  [{ ours: 20, target: { ratio: 2 } }, false],
  [{ ours: 5, target: { atMost: 5 } }, true],
  [{ ours: 5.1, target: { atMost: 5 } }, false],
  [{ ours: 0.99, target: { atLeast: 1 } }, false],
  [{ ours: 1, target: { atLeast: 1 } }, true],
  [{ ours: 1, floor: 1 }, undefined],
])("%j meets its target: %s", (row, expected) => {
  expect(meetsTarget({ name: "row", unit: "ms", ...row })).toBe(expected)
})

test("the result of a compared row contains its rounds, its ratio and whether it meets the target", () => {
  const row = compared("start", "ms", { ours: [30, 20, 40], floor: [20, 10, 30], target: { ratio: 1.5 } })
  expect(rowResult(row)).toEqual({
    name: "start",
    unit: "ms",
    ours: 30,
    floor: 20,
    ratio: 1.5,
    target: { ratio: 1.5 },
    ok: true,
    samples: { ours: [30, 20, 40], floor: [20, 10, 30] },
  })
})

test("the table aligns its columns and shows missed targets", () => {
  const rows: Row[] = [
    { name: "start", unit: "ms", ours: 31.26, floor: 24, target: { ratio: 1.2 } },
    { name: "appends", unit: "per s", ours: 2500, target: { atLeast: 2000 } },
    { name: "tools", unit: "count", ours: 5 },
  ]
  expect(renderTable(rows)).toBe(
    [
      "               ours  floor  ratio   target",
      "start       31.3 ms  24 ms   1.30  ≤ 1.2 ×  MISSED",
      "appends  2500 per s                 ≥ 2000  ok",
      "tools       5 count",
    ].join("\n"),
  )
})
