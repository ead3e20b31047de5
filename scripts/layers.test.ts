import { execFile } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"

import { expect, test } from "vitest"

const PROGRAM = join(import.meta.dirname, "../node_modules/dependency-cruiser/bin/dependency-cruiser.mjs")
const CONFIG = join(import.meta.dirname, "../.dependency-cruiser.cjs")

/** The names of the rules that a source tree violates. */
async function violations(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const directory = mkdtempSync(join(tmpdir(), "hermes-layers-"))
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(directory, path)), { recursive: true })
      writeFileSync(join(directory, path), text)
    }
    symlinkSync(join(import.meta.dirname, "../node_modules"), join(directory, "node_modules"))
    const checked = promisify(execFile)(
      process.execPath,
      [PROGRAM, "src", "--config", CONFIG, "--output-type", "json"],
      {
        cwd: directory,
      },
    )
    // It exits with the number of errors, but reports them on stdout in either case.
    const { stdout } = await checked.catch((error: unknown) => ({ stdout: String(Object(error).stdout) }))
    const { summary } = JSON.parse(stdout) as { summary: { violations: { rule: { name: string } }[] } }
    return summary.violations.map(({ rule }) => rule.name).toSorted()
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const model = "export const model = 1\nexport interface Model {}\n"

test.each([
  [
    "a value of llm in cli",
    "import { model } from '../llm/model.ts'\nexport const x = model\n",
    ["surfaces-through-app-and-admin"],
  ],
  ["the same, loaded later", "export const x = () => import('../llm/model.ts')\n", ["surfaces-through-app-and-admin"]],
  ["a type of llm in cli", "import type { Model } from '../llm/model.ts'\nexport const x: Model = {}\n", []],
])("%s", async (_name, text, expected) => {
  const files = { "src/llm/model.ts": model, "src/cli/x.ts": text, "src/cli/y.ts": "import './x.ts'\n" }
  expect(await violations(files)).toEqual(expected)
})

test("an import from a higher layer, a cycle, SQL outside state and processes outside exec", async () => {
  const files = {
    "src/llm/model.ts": "import { x } from '../cli/x.ts'\nexport const model = x\n",
    "src/cli/x.ts": "import { DatabaseSync } from 'node:sqlite'\nexport const x = DatabaseSync\n",
    "src/base/a.ts": "import { b } from './b.ts'\nexport const a = () => b\n",
    "src/base/b.ts":
      "import { a } from './a.ts'\nimport { spawn } from 'node:child_process'\nexport const b = () => [a, spawn]\n",
  }
  expect([...new Set(await violations(files))]).toEqual([
    "layer:llm",
    "no-cycles",
    "processes-only-in-exec",
    "sql-only-in-state",
  ])
})
