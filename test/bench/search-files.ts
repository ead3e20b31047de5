import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { rgPath } from "@vscode/ripgrep"

import { searchFiles } from "../../src/tools/file/search-files.ts"
import { toolBench } from "../fixtures/tools/tool-context.ts"
import type { ToolBench } from "../fixtures/tools/tool-context.ts"
import type { Measurement } from "./measurement.ts"
import { compared } from "./measurement.ts"
import { inTurns } from "./rounds.ts"

const FOLDERS = 500
const FILES_PER_FOLDER = 100

/** What the search tool adds to ripgrep: the shell, reading its answer, order, pages and masked secrets. */
export const searchBench: Measurement = {
  name: "search-files",
  slow: true,
  run: async ({ rounds }) => {
    await using bench = await toolBench()
    makeTree(bench.place.workdir)
    const rows = []
    for (const { name, args, floor } of CASES) {
      const expected = await timeTool(bench, args)
      if (expected.count === 0) throw new Error(`${name}: nothing was found`)
      const found = await inTurns(rounds.oneShot, {
        ours: async () => (await timeTool(bench, args)).ms,
        floor: () => timeRipgrep(floor, bench.place.workdir),
      })
      rows.push(compared(`search 50,000 files, ${name}`, "ms", { ...found, target: { ratio: 1.3 } }))
    }
    return rows
  },
}

const CASES = [
  { name: "rare word", args: { pattern: "zebrafish" }, floor: ["-n", "-e", "zebrafish", "--", "."] },
  { name: "word of every tenth file", args: { pattern: "heron \\d+" }, floor: ["-n", "-e", "heron \\d+", "--", "."] },
  {
    name: "word of every tenth file, counted",
    args: { pattern: "heron", output_mode: "count" },
    floor: ["-c", "-e", "heron", "--", "."],
  },
  {
    name: "files by name",
    args: { pattern: "*7.ts", target: "files" },
    floor: ["--files", "--sortr=modified", "-g", "*7.ts", "--", "."],
  },
] as const

function makeTree(root: string): void {
  const filler = Array.from({ length: 40 }, (_, line) => `const value${line} = compute(${line}, "some text of a line")`)
  for (let folder = 0; folder < FOLDERS; folder += 1) {
    const directory = join(root, `package-${folder % 20}`, `folder-${folder}`)
    mkdirSync(directory, { recursive: true })
    for (let file = 0; file < FILES_PER_FOLDER; file += 1) {
      const number = folder * FILES_PER_FOLDER + file
      const special = number % 10_000 === 77 ? "// zebrafish\n" : number % 10 === 3 ? `// heron ${number}\n` : ""
      const name = `file-${file}.${file % 2 === 0 ? "md" : "ts"}`
      writeFileSync(join(directory, name), `${filler.slice(0, 10 + (number % 30)).join("\n")}\n${special}`)
    }
  }
}

async function timeTool(
  bench: ToolBench,
  args: Readonly<Record<string, unknown>>,
): Promise<{ readonly ms: number; readonly count: number }> {
  const started = performance.now()
  const answer = (await bench.call(searchFiles, args)) as { readonly total_count?: number }
  return { ms: performance.now() - started, count: answer.total_count ?? 0 }
}

/** ripgrep on its own, its answer read and thrown away. */
async function timeRipgrep(args: readonly string[], cwd: string): Promise<number> {
  const started = performance.now()
  const child = spawn(rgPath, ["--no-config", ...args], { cwd, stdio: ["ignore", "pipe", "ignore"] })
  child.stdout.resume()
  await once(child, "close")
  return performance.now() - started
}
