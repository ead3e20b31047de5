import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { delimiter, join, relative } from "node:path"

import { expect, test } from "vitest"

import { findProgram } from "./find-program.ts"

test("finds the first executable file; ignores directories, plain files and relative entries", async () => {
  const root = await mkdtemp(join(tmpdir(), "hermes-find-program-"))
  try {
    const [folder, plain, right, later] = ["folder", "plain", "right", "later"].map((name) => join(root, name))
    await mkdir(join(folder!, "tool"), { recursive: true })
    for (const directory of [plain!, right!, later!]) {
      await mkdir(directory)
      await writeFile(join(directory, "tool"), "")
    }
    await chmod(join(right!, "tool"), 0o755)
    await chmod(join(later!, "tool"), 0o755)
    const path = [relative(process.cwd(), later!), "", folder, plain, right, later].join(delimiter)
    expect(findProgram("tool", path)).toBe(join(right!, "tool"))
    expect(findProgram("other", path)).toBeUndefined()
  } finally {
    await rm(root, { recursive: true })
  }
})
