import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { expect, test } from "vitest"

import { realPath } from "./real-path.ts"

test("links are resolved, even above a path that does not exist yet", () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "hermes-real-path-")))
  try {
    mkdirSync(join(root, "target"))
    symlinkSync("target", join(root, "link"))
    symlinkSync("loop", join(root, "loop"))
    symlinkSync("target/missing", join(root, "dangling"))
    symlinkSync("dangling", join(root, "chain"))
    expect([realPath(join(root, "chain")), realPath(join(root, "dangling/a"))]).toEqual([
      join(root, "target/missing"),
      join(root, "target/missing/a"),
    ])
    expect([realPath(join(root, "link")), realPath(join(root, "link/new/file")), realPath(join(root, "loop"))]).toEqual(
      [join(root, "target"), join(root, "target/new/file"), join(root, "loop")],
    )
  } finally {
    rmSync(root, { recursive: true })
  }
})
