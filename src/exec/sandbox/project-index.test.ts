import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { CLOCK_TICK_MS } from "./time-of-change.ts"
import { createProjectIndex } from "./project-index.ts"
import type { ProjectSearch } from "./project-index.ts"

function write(root: string, ...names: readonly string[]): void {
  for (const name of names) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), "")
  }
}

const foundIn = (root: string, { found }: ProjectSearch) =>
  Object.fromEntries(Array.from(found, ([path, names]) => [path.slice(root.length + 1), [...names].toSorted()]))

test("an update finds what is new, however deep, moved or removed since the last one", async () => {
  await using home = await temporaryHome()
  const root = home.workdir
  const deep = "a/b/c/d/e/f/g"
  write(root, `${deep}/x.ts`, "node_modules/p/AGENTS.md", "old/.envrc", "archive.zip/x", "moving/in/CLAUDE.md")
  const index = createProjectIndex(root)
  const first = await index.update()
  expect(foundIn(root, first)).toEqual({ old: [".envrc"], "moving/in": ["CLAUDE.md"] })
  expect([first.isComplete, first.has(join(root, deep)), first.has(join(root, "node_modules"))]).toEqual([
    true,
    true,
    false,
  ])
  // Older than a tick of the clock of files: what has not changed is not read again.
  await sleep(CLOCK_TICK_MS * 2)
  await index.update()
  write(root, `${deep}/.git/HEAD`, "archive.zip/mise.toml", "new/one/AGENTS.md", "bare/HEAD", "bare/commondir")
  renameSync(join(root, "moving/in"), join(root, deep, "in"))
  rmSync(join(root, "old"), { recursive: true })
  const next = await index.update()
  expect(foundIn(root, next)).toEqual({
    "archive.zip": ["mise.toml"],
    bare: ["HEAD"],
    [deep]: [".git"],
    [`${deep}/in`]: ["CLAUDE.md"],
    "new/one": ["AGENTS.md"],
  })
  expect(["new/one", `${deep}/in`, "old"].map((name) => first.has(join(root, name)))).toEqual([false, false, false])
})

test("a search that meets its limit or is aborted says so, and the next update continues it", async () => {
  await using home = await temporaryHome()
  const root = home.workdir
  write(root, "a/x", "b/x", "c/d/AGENTS.md")
  const limited = await createProjectIndex(root, { directories: 2, depth: 9 }).update()
  const shallow = await createProjectIndex(root, { directories: 9, depth: 1 }).update()
  const index = createProjectIndex(root)
  const aborted = await index.update(AbortSignal.abort())
  expect([limited.isComplete, shallow.isComplete, aborted.isComplete]).toEqual([false, false, false])
  expect(foundIn(root, await index.update())).toEqual({ "c/d": ["AGENTS.md"] })
})
