import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { expect, test } from "vitest"

import type { ObjectWriter } from "./object-writer.ts"
import { scanWorkspace, TooManyFilesError } from "./workspace-scan.ts"

test("nothing is stored of a workspace with too many files", async () => {
  const root = mkdtempSync(join(tmpdir(), "hermes-scan-"))
  try {
    for (const folder of ["a", "b", "node_modules"]) {
      mkdirSync(join(root, folder))
      for (let number = 0; number < 6; number += 1) writeFileSync(join(root, folder, `${number}.txt`), folder)
    }
    const stored: string[] = []
    const record = (type: string) => (): string => {
      stored.push(type)
      return "0".repeat(40)
    }
    const writer = { blob: record("blob"), tree: record("tree"), isCongested: () => false } as unknown as ObjectWriter
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
