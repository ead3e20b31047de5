import { posix } from "node:path"

import { xmlEvents } from "./xml-events.ts"
import { readZipEntries } from "./zip-entries.ts"

const MAX_ROWS = 5000
const MAX_COLUMNS = 256

/** The visible sheets of a workbook, each with a heading and a line of cells per row. */
export async function readXlsx(archive: Uint8Array): Promise<string> {
  const parts = await readZipEntries(archive, (name) => name.startsWith("xl/") && /\.(?:xml|rels)$/.test(name))
  const partText = (name: string): string | undefined => {
    const bytes = parts.get(name)
    return bytes === undefined ? undefined : new TextDecoder().decode(bytes)
  }
  const workbook = partText("xl/workbook.xml")
  if (workbook === undefined) throw new Error("the workbook has no xl/workbook.xml")
  const targets = readTargets(partText("xl/_rels/workbook.xml.rels") ?? "")
  const strings = readSharedStrings(partText("xl/sharedStrings.xml") ?? "")
  const sheets = readSheets(workbook).map(({ name, id }) => {
    const sheet = partText(targets.get(id) ?? "")
    const rows = sheet === undefined ? [] : readRows(sheet, strings)
    return [`# ── Sheet: ${name} ──`, ...(rows.length === 0 ? ["(empty)"] : rows)].join("\n")
  })
  return sheets.join("\n\n")
}

function readSheets(workbook: string): readonly { readonly name: string; readonly id: string }[] {
  const sheets: { readonly name: string; readonly id: string }[] = []
  for (const event of xmlEvents(workbook)) {
    if (event.kind !== "open" || event.name !== "sheet") continue
    if ((event.attributes("state") ?? "visible") !== "visible") continue
    sheets.push({ name: event.attributes("name") ?? "?", id: event.attributes("r:id") ?? "" })
  }
  return sheets
}

/** The path of each sheet by its id; only paths inside the archive. */
function readTargets(relations: string): ReadonlyMap<string, string> {
  const targets = new Map<string, string>()
  for (const event of xmlEvents(relations)) {
    if (event.kind !== "open" || event.name !== "Relationship") continue
    const [id, target] = [event.attributes("Id"), event.attributes("Target")]
    if (id === undefined || target === undefined || event.attributes("TargetMode") === "External") continue
    targets.set(id, target.startsWith("/") ? target.slice(1) : posix.normalize(`xl/${target}`))
  }
  return targets
}

function readSharedStrings(xml: string): readonly string[] {
  const strings: string[] = []
  let inText = false
  let phonetic = false
  for (const event of xmlEvents(xml)) {
    if (event.kind === "text") {
      if (inText && !phonetic) strings[strings.length - 1] += event.text
    } else if (event.name === "si" && event.kind === "open") strings.push("")
    else if (event.name === "t") inText = event.kind === "open"
    else if (event.name === "rPh") phonetic = event.kind === "open"
  }
  return strings
}

interface Cell {
  readonly column: number
  readonly type: string
  value: string
}

function readRows(xml: string, strings: readonly string[]): readonly string[] {
  const rows: string[] = []
  let cells: Cell[] = []
  let cell: Cell | undefined
  let inValue = false
  for (const event of xmlEvents(xml)) {
    if (event.kind === "text") {
      if (inValue && cell !== undefined) cell.value += event.text
      continue
    }
    switch (event.name) {
      case "row":
        if (event.kind === "open") cells = []
        else if (rows.length === MAX_ROWS) return [...rows, `(only the first ${MAX_ROWS} rows are shown)`]
        else rows.push(rowLine(cells, strings))
        break
      case "c":
        if (event.kind === "close") cell = undefined
        else {
          const column = columnOf(event.attributes("r")) ?? (cells.at(-1)?.column ?? -1) + 1
          cell = { column, type: event.attributes("t") ?? "n", value: "" }
          if (column < MAX_COLUMNS) cells.push(cell)
        }
        break
      case "v":
      case "t":
        inValue = event.kind === "open"
        break
      default:
    }
  }
  return rows.every((row) => row === "") ? [] : rows
}

function rowLine(cells: readonly Cell[], strings: readonly string[]): string {
  const columns: string[] = []
  for (const cell of cells) {
    while (columns.length < cell.column) columns.push("")
    columns[cell.column] = cellText(cell, strings).replaceAll(/[\t\r\n]+/g, " ")
  }
  return columns.join("\t").trimEnd()
}

function cellText({ type, value }: Cell, strings: readonly string[]): string {
  if (type === "s") return strings[Number(value)] ?? ""
  if (type === "b") return value === "1" ? "TRUE" : "FALSE"
  return value
}

/** The column of a cell reference such as `BC12`, counted from 0. */
function columnOf(cell: string | undefined): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(cell ?? "")?.[0]
  if (letters === undefined) return undefined
  return Array.from(letters).reduce((column, letter) => column * 26 + letter.charCodeAt(0) - 64, 0) - 1
}
