// Lists files with more than 400 and functions with more than 60 lines of code, as candidates for splitting.
import { globSync, readFileSync } from "node:fs"

const FILE_LIMIT = 400
const FUNCTION_LIMIT = 60

const files = globSync("src/**/*.ts").filter((path) => !path.endsWith(".test.ts") && !path.endsWith(".generated.ts"))
for (const path of files.toSorted()) {
  const lines = readFileSync(path, "utf8").split("\n")
  const code = lines.filter(isCode).length
  if (code > FILE_LIMIT) console.log(`${path}: ${code} code lines`)
  for (const { name, length } of longFunctions(lines)) console.log(`${path}: ${name} has ${length} code lines`)
}

function isCode(line: string): boolean {
  const text = line.trim()
  return text !== "" && !text.startsWith("//") && !text.startsWith("*") && !text.startsWith("/*")
}

/** Top-level functions only: a line that opens one, up to the closing brace in column one. */
function longFunctions(lines: readonly string[]): readonly { readonly name: string; readonly length: number }[] {
  return lines.flatMap((line, index) => {
    const name = /^(?:export )?(?:async )?function\*? (\w+)/.exec(line)?.[1]
    if (name === undefined) return []
    const length = lines.slice(index, lines.indexOf("}", index) + 1).filter(isCode).length
    return length > FUNCTION_LIMIT ? [{ name, length }] : []
  })
}
