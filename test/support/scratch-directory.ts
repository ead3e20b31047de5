import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { makeMemoryDirectory, removeMemoryDirectory } from "../../src/exec/local/memory-directory.ts"

/** All temporary files of a test run live in one directory that goes with it, also those the product itself leaves for later. */
export function setup(): () => void {
  const directory = mkdtempSync(join(tmpdir(), "hermes-test-run-"))
  // The product's code cache stays where it is: a cold one would slow every started process down.
  process.env["NODE_COMPILE_CACHE"] ??= join(tmpdir(), "node-compile-cache")
  mkdirSync(process.env["NODE_COMPILE_CACHE"], { recursive: true })
  process.env["TMPDIR"] = directory
  return () => {
    // Processes that a test has killed leave something in memory, which the next one to end would remove.
    removeMemoryDirectory(makeMemoryDirectory("shell"), Date.now())
    rmSync(directory, { recursive: true, force: true })
  }
}
