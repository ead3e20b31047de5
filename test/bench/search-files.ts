import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { rgPath } from "@vscode/ripgrep"

import { searchFiles } from "../../src/tools/file/search-files.ts"
import { toolBench } from "../fixtures/tools/tool-bench.ts"
import type { ToolBench } from "../fixtures/tools/tool-bench.ts"
import type { Measurement } from "./measurement.ts"
import { compared } from "./measurement.ts"
import { runAlternately } from "./rounds.ts"

const DIRECTORIES = 500
const FILES_PER_DIRECTORY = 100

/** The overhead of the search tool over ripgrep: the shell, parsing, sorting, paging and masking secrets. */
export const searchBench: Measurement = {
  name: "search-files",
  slow: true,
  run: async ({ rounds }) => {
    await using bench = await toolBench()
    createTree(bench.home.workdir)
    const rows = []
    for (const { name, args, floor } of CASES) {
      const expected = await timeTool(bench, args)
      if (expected.count === 0) throw new Error(`${name}: no results`)
      const found = await runAlternately(rounds.oneShot, {
        ours: async () => (await timeTool(bench, args)).ms,
        floor: () => timeRipgrep(floor, bench.home.workdir),
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

function createTree(root: string): void {
  const filler = Array.from({ length: 40 }, (_, line) => `const value${line} = compute(${line}, "some text of a line")`)
  for (let index = 0; index < DIRECTORIES; index += 1) {
    const directory = join(root, `package-${index % 20}`, `folder-${index}`)
    mkdirSync(directory, { recursive: true })
    for (let file = 0; file < FILES_PER_DIRECTORY; file += 1) {
      const number = index * FILES_PER_DIRECTORY + file
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
  const result = (await bench.call(searchFiles, args)) as { readonly total_count?: number }
  return { ms: performance.now() - started, count: result.total_count ?? 0 }
}

/** Runs ripgrep directly and discards its output. */
async function timeRipgrep(args: readonly string[], cwd: string): Promise<number> {
  const started = performance.now()
  const child = spawn(rgPath, ["--no-config", ...args], { cwd, stdio: ["ignore", "pipe", "ignore"] })
  child.stdout.resume()
  await once(child, "close")
  return performance.now() - started
}
