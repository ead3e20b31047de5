import { describe, expect, test } from "vitest"
import { environmentFrom } from "../../config/environment.ts"
import { recordingTerminal } from "../../../test/support/cli-home.ts"
import { outputWidth, tableLines, type TableColumn } from "./table.ts"
import { textColumns } from "../../terminal/text-width.ts"

const COLUMNS: readonly TableColumn[] = [
  { heading: "Title", flexible: true },
  { heading: "Preview", flexible: true },
  { heading: "Size", align: "right" },
  { heading: "ID" },
]
const ROWS = [
  ["Tax return", "Where is my passport scan? I need it for the tax office", "12", "20260101_100000_aaaaaa"],
  ["日本語のタイトル", "短い", "3", "20260102_100000_bbbbbb"],
]

test("without a width nothing is cut", () => {
  const lines = tableLines(COLUMNS, ROWS, { width: undefined })
  expect(lines[1]).toBe(ROWS[0]?.join("  ").replace("Tax return", "Tax return      ").replace("  12  ", "    12  "))
})

test.each([120, 100, 80, 60, 50])("every line fits into %i columns, and fixed columns stay whole", (width) => {
  const lines = tableLines(COLUMNS, ROWS, { width })
  expect(lines.map(textColumns).every((columns) => columns <= width)).toBe(true)
  expect(lines.map((line) => line.split(" ").at(-1))).toEqual(["ID", ...ROWS.map((row) => row[3])])
})

test("wide characters keep the columns aligned", () => {
  const [, first = "", second = ""] = tableLines(COLUMNS, ROWS, { width: 70 })
  expect(textColumns(first)).toBe(textColumns(second))
  expect(first).toContain("…")
})

test("flexible columns that have no room are left out", () => {
  expect(tableLines(COLUMNS, ROWS, { width: 40 })).toEqual([
    "Title     Size  ID",
    "Tax ret…    12  20260101_100000_aaaaaa",
    "日本語…      3  20260102_100000_bbbbbb",
  ])
})

test("without flexible columns the right one is cut", () => {
  const lines = tableLines([{}, {}], [["a", "a long description of the thing"]], { width: 20, indent: "  " })
  expect(lines).toEqual(["  a  a long descrip…"])
})

describe("the width", () => {
  const widthOf = (variables: Record<string, string>, stdoutIsTty = true): number | undefined =>
    outputWidth({
      terminal: { ...recordingTerminal(), stdoutIsTty, columns: 93 },
      environment: environmentFrom(variables),
    })
  test("is that of the terminal, or COLUMNS", () => {
    expect(widthOf({})).toBe(93)
    expect(widthOf({ COLUMNS: "60" })).toBe(60)
    expect(widthOf({ COLUMNS: "wide" })).toBe(93)
    expect(widthOf({ COLUMNS: "0" })).toBe(93)
  })
  test("is unlimited for a pipe", () => {
    expect(widthOf({ COLUMNS: "60" }, false)).toBeUndefined()
  })
})
