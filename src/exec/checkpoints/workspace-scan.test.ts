import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { expect, test } from "vitest"

import type { ObjectWriter } from "./object-writer.ts"
import { scanWorkspace, TooManyFilesError } from "./workspace-scan.ts"

test("of a workspace that is too large nothing is stored", async () => {
  const root = mkdtempSync(join(tmpdir(), "hermes-scan-"))
  try {
    for (const folder of ["a", "b", "node_modules"]) {
      mkdirSync(join(root, folder))
      for (let number = 0; number < 6; number += 1) writeFileSync(join(root, folder, `${number}.txt`), folder)
    }
    const stored: string[] = []
    const note = (what: string) => (): string => {
      stored.push(what)
      return "0".repeat(40)
    }
    const writer = { blob: note("blob"), tree: note("tree"), isCongested: () => false } as unknown as ObjectWriter
    const scan = (maxFiles: number) =>
      scanWorkspace({
        root,
        previous: undefined,
        writer,
        maxFiles,
        sizeLimit: () => 1000,
        skipped: new Set(),
        signal: new AbortController().signal,
      })
    await expect(scan(11)).rejects.toBeInstanceOf(TooManyFilesError)
    expect(stored).toEqual([])
    expect((await scan(12)).files).toBe(12)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
})
