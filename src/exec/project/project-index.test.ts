import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
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
  const limited = await createProjectIndex(root, { directories: 2, depth: 9, links: 9 }).update()
  const shallow = await createProjectIndex(root, { directories: 9, depth: 1, links: 9 }).update()
  const index = createProjectIndex(root)
  const aborted = await index.update(AbortSignal.abort())
  expect([limited.isComplete, shallow.isComplete, aborted.isComplete]).toEqual([false, false, false])
  expect(foundIn(root, await index.update())).toEqual({ "c/d": ["AGENTS.md"] })
})

test("directories that were there before are searched first, whatever is created", async () => {
  await using home = await temporaryHome()
  const root = home.workdir
  write(root, "src/a/x", "src/b/x")
  const index = createProjectIndex(root, { directories: 6, depth: 9, links: 9 })
  expect((await index.update()).isComplete).toBe(true)
  write(root, ...Array.from({ length: 9 }, (_none, number) => `a${number}/deep/x`))
  write(root, "src/a/.envrc", "src/b/AGENTS.md")
  const next = await index.update()
  expect([foundIn(root, next), next.isComplete]).toEqual([{ "src/a": [".envrc"], "src/b": ["AGENTS.md"] }, false])
  // The ones that were created do not replace them later either.
  for (const name of readdirSync(root)) if (name.startsWith("a")) rmSync(join(root, name), { recursive: true })
  write(root, "b/c/CLAUDE.md")
  const last = await index.update()
  expect([Object.keys(foundIn(root, last)), last.isComplete]).toEqual([["src/a", "src/b", "b/c"], true])
})

test("links to directories that are left out are followed, with a limit", async () => {
  await using home = await temporaryHome()
  const root = home.workdir
  write(root, "node_modules/p/.envrc", "src/.envrc", "node_modules/q/x")
  mkdirSync(join(home.path, "elsewhere"))
  write(join(home.path, "elsewhere"), ".envrc")
  for (const [name, target] of [
    ["a", "node_modules/p"],
    ["b", "src"],
    ["c", "node_modules/q"],
    ["d", join(home.path, "elsewhere")],
    ["e", "nowhere"],
    ["f", "f"],
  ] as const)
    symlinkSync(target, join(root, name))
  expect(foundIn(root, await createProjectIndex(root).update())).toEqual({ src: [".envrc"], a: [".envrc"] })
  const limited = await createProjectIndex(root, { directories: 9, depth: 9, links: 2 }).update()
  expect(limited.isComplete).toBe(false)
})

test("names that are not valid UTF-8 are returned as bytes", async () => {
  await using home = await temporaryHome()
  const root = home.workdir
  const bytes = (name: string): Buffer => Buffer.from(name, "latin1")
  const at = (name: string): Buffer => Buffer.concat([Buffer.from(`${root}/`), bytes(name)])
  // The last two are valid, or of no interest.
  mkdirSync(at("d\u00FF"))
  writeFileSync(at("f\u00FE.code-workspace"), "")
  mkdirSync(join(root, "\uFFFD"))
  writeFileSync(at("data\u00FF"), "")
  const { undecodable } = await createProjectIndex(root).update()
  expect([...undecodable.keys()]).toEqual([root])
  expect(
    undecodable
      .get(root)
      ?.map((name) => name.toString("latin1"))
      .toSorted(),
  ).toEqual(["d\u00FF", "f\u00FE.code-workspace"])
})
