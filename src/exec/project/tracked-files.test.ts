import { rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { createRepository, git, writeFileIn } from "../../../test/support/git-repository.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { originsOf } from "./tracked-files.ts"

const FILES = {
  "AGENTS.md": "One.\nTwo.\n",
  "CLAUDE.md": "One.\n",
  "crlf.md": "One.\nTwo.\n",
  "filtered.md": "One.\n",
  ".gitattributes": "filtered.md filter=x\n",
  ".agents/skills/a.md": "One.\n",
}

test.each(["sha1", "sha256"])("files are compared with the index, also with hashes of %s", async (format) => {
  await using home = await temporaryHome()
  const root = home.workdir
  git(root, "init", "--quiet", `--object-format=${format}`)
  createRepository(root, FILES)
  createRepository(join(root, "sub"), { "AGENTS.md": "Sub.\n" })
  symlinkSync("AGENTS.md", join(root, "link.md"))
  git(root, "add", "link.md")
  writeFileSync(join(root, "CLAUDE.md"), "Changed.\n")
  writeFileSync(join(root, "crlf.md"), "One.\r\nTwo.\r\n")
  writeFileSync(join(root, "filtered.md"), "Filtered.\n")
  writeFileIn(root, "new/AGENTS.md", "New.\n")
  writeFileIn(root, "nested/AGENTS.md", "New.\n")
  // The index of a repository that was not known before does not count.
  createRepository(join(root, "nested"))
  rmSync(join(root, ".agents/skills/a.md"))
  const names = [
    "AGENTS.md",
    "link.md",
    "crlf.md",
    "sub/AGENTS.md",
    "CLAUDE.md",
    "new/AGENTS.md",
    "nested/AGENTS.md",
    "filtered.md",
    ".agents",
    ".agents/skills/a.md",
  ]
  const origins = originsOf(
    names.map((name) => join(root, name)),
    { root, repositories: [root, join(root, "sub")], searchPath: process.env["PATH"] ?? "" },
  )
  expect(names.map((name) => [name, origins.get(join(root, name))])).toEqual([
    ["AGENTS.md", "git"],
    ["link.md", "git"],
    ["crlf.md", "git"],
    ["sub/AGENTS.md", "git"],
    ["CLAUDE.md", "other"],
    ["new/AGENTS.md", "other"],
    ["nested/AGENTS.md", "other"],
    ["filtered.md", "unclear"],
    [".agents", "unclear"],
    [".agents/skills/a.md", "unclear"],
  ])
})
