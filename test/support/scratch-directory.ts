import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { createMemoryDirectory, removeMemoryDirectory } from "../../src/exec/local/ram-directory.ts"

/** Puts all temporary files of a test run, including those that Hermes keeps for later, in one directory and deletes it at the end. */
export function setup(): () => void {
  const directory = mkdtempSync(join(tmpdir(), "hermes-test-run-"))
  // The compile cache stays outside: a cold cache would slow down every started process.
  process.env["NODE_COMPILE_CACHE"] ??= join(tmpdir(), "node-compile-cache")
  mkdirSync(process.env["NODE_COMPILE_CACHE"], { recursive: true })
  process.env["TMPDIR"] = directory
  return () => {
    // Killed processes leave directories in /dev/shm. This removes them, as the next Hermes to exit would.
    removeMemoryDirectory(createMemoryDirectory("shell"), Date.now())
    rmSync(directory, { recursive: true, force: true })
  }
}
