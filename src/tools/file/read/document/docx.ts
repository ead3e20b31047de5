import { xmlEvents } from "./xml-events.ts"
import { readZipEntries } from "./zip-entries.ts"

const MAIN_PART = "word/document.xml"

/** The text of a Word document: a line per paragraph, and a line of tab-separated cells per table row. */
export async function readDocx(archive: Uint8Array): Promise<string> {
  const part = (await readZipEntries(archive, (name) => name === MAIN_PART)).get(MAIN_PART)
  if (part === undefined) throw new Error(`the document has no ${MAIN_PART}`)
  const lines: string[] = []
  const rows: string[][] = []
  let paragraph = ""
  let hidden = 0
  let inText = false
  for (const event of xmlEvents(new TextDecoder().decode(part))) {
    if (event.kind === "text") {
      if (inText && hidden === 0) paragraph += event.text
      continue
    }
    const opens = event.kind === "open"
    switch (event.name) {
      // A second form of the same content for other programs.
      case "mc:Fallback":
        hidden += opens ? 1 : -1
        break
      case "w:t":
        inText = opens
        break
      case "w:tab":
        if (opens && hidden === 0) paragraph += "\t"
        break
      case "w:br":
      case "w:cr":
        if (opens && hidden === 0) paragraph += "\n"
        break
      case "w:tr":
        if (opens) rows.push([])
        else endRow(rows, lines)
        break
      case "w:tc":
        if (opens) rows.at(-1)?.push("")
        break
      case "w:p":
        if (opens || hidden > 0) break
        endParagraph(paragraph, rows, lines)
        paragraph = ""
        break
      default:
    }
  }
  return lines.join("\n")
}

/** A paragraph in a table belongs to its cell. */
function endParagraph(text: string, rows: readonly string[][], lines: string[]): void {
  const cells = rows.at(-1)
  if (cells === undefined || cells.length === 0) {
    lines.push(text)
    return
  }
  const before = cells.at(-1) ?? ""
  cells[cells.length - 1] = [before, text.replaceAll("\n", " ")].filter((part) => part !== "").join(" ")
}

/** A table inside a cell becomes text of that cell. */
function endRow(rows: string[][], lines: string[]): void {
  const line = rows.pop()?.join("\t") ?? ""
  if (rows.length === 0) lines.push(line)
  else endParagraph(line, rows, lines)
}
