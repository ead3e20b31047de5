import { isRecord } from "../../../../base/json.ts"

const HEADINGS: Readonly<Record<string, string>> = { markdown: "Markdown", code: "Code", raw: "Raw" }

/** The sources of a notebook's cells under numbered headings, without outputs. */
export function readNotebook(bytes: Uint8Array): string {
  const notebook: unknown = JSON.parse(new TextDecoder().decode(bytes))
  const cells = cellsOf(notebook)
  if (cells === undefined) throw new Error("the notebook has no cells")
  return cells
    .map((cell, index) => {
      const kind = isRecord(cell) && typeof cell["cell_type"] === "string" ? cell["cell_type"] : ""
      const source = isRecord(cell) ? sourceOf(cell["source"] ?? cell["input"]) : ""
      return `# ── ${HEADINGS[kind] ?? "Other"} cell ${index + 1} ──\n${source}`
    })
    .join("\n\n")
}

/** Notebooks before version 4 have their cells in worksheets. */
function cellsOf(notebook: unknown): readonly unknown[] | undefined {
  if (!isRecord(notebook)) return undefined
  const { cells, worksheets } = notebook
  if (Array.isArray(cells)) return cells
  if (!Array.isArray(worksheets)) return undefined
  return worksheets.flatMap((sheet: unknown) =>
    isRecord(sheet) && Array.isArray(sheet["cells"]) ? sheet["cells"] : [],
  )
}

function sourceOf(source: unknown): string {
  if (typeof source === "string") return source
  return Array.isArray(source) ? source.filter((line) => typeof line === "string").join("") : ""
}
