import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { createTestHome } from "../../../../test/support/command-run.ts"
import type { TestHome } from "../../../../test/support/command-run.ts"
import { systemClock } from "../../../base/clock.ts"
import { createShadowStore } from "../../../exec/checkpoints/shadow-store.ts"
import type { CommandTree } from "../../command.ts"
import { COMMAND_TREE } from "../../command-table.ts"
import { CHECKPOINTS_COMMAND } from "../../command-table/checkpoints.ts"

const signal = new AbortController().signal
const tree: CommandTree = { ...COMMAND_TREE, commands: [CHECKPOINTS_COMMAND] }

interface Place {
  readonly root: string
  readonly first: string
  readonly run: (line: string) => ReturnType<TestHome["run"]>
}

/** A project with one snapshot, and a file that was changed after it. */
async function project(home: TestHome): Promise<Place> {
  const root = join(home.directory, "project")
  mkdirSync(root)
  writeFileSync(join(root, "package.json"), "{}\n")
  writeFileSync(join(root, "a.txt"), "old\n")
  const path = process.env["PATH"] ?? ""
  const store = createShadowStore({ home: home.home.path, path, maxSnapshots: 20, maxFileMb: 10, clock: systemClock })
  const { hash } = await store.snapshot(root, { reason: "before write_file a.txt" }, signal)
  writeFileSync(join(root, "a.txt"), "new\n")
  const run: Place["run"] = (line) => home.run(["checkpoints", ...line.split(" ")], { tree, variables: { PATH: path } })
  return { root, first: hash, run }
}

test("list, diff, restore and its undo", async () => {
  using home = createTestHome()
  const { root, first, run } = await project(home)
  const listed = await run(`list --dir ${root}`)
  expect([listed.code, listed.out]).toEqual([
    0,
    expect.stringMatching(/^[0-9a-f]{8} {2}.* before write_file a\.txt\n$/u),
  ])
  const shown = await run(`diff ${first.slice(0, 8)} --dir ${root}`)
  expect([shown.code, shown.out]).toEqual([0, expect.stringContaining("-old\n+new\n")])
  const asked = await run(`restore ${first.slice(0, 8)} --dir ${root}`)
  expect([asked.code, readFileSync(join(root, "a.txt"), "utf8")]).toEqual([1, "new\n"])
  const done = await run(`restore ${first} a.txt -y --dir ${root}`)
  expect([done.code, done.out]).toEqual([
    0,
    expect.stringContaining("put back  a.txt\nTo undo this: hermes checkpoints restore "),
  ])
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("old\n")
  const undo = /restore ([0-9a-f]+)/u.exec(done.out)?.[1] ?? ""
  expect((await run(`restore ${undo} -y --dir ${root}`)).code).toBe(0)
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("new\n")
})

test.each([
  ["diff zz", '"zz" is no checkpoint: give 4 to 64 hexadecimal digits.'],
  ["diff abcdef12", "There is no checkpoint abcdef12 of "],
  ["diff HASH ../x", "The path ../x is outside the workspace."],
  ["diff HASH /etc/passwd", "The path /etc/passwd is absolute; give one inside the workspace."],
  ["restore HASH .git/config -y", "Checkpoints never touch version control, so not .git/config."],
  ["restore HASH missing -y", "That checkpoint has no missing; if it is new since then, remove it yourself."],
])("%s is refused", async (line, error) => {
  using home = createTestHome()
  const { root, first, run } = await project(home)
  const answer = await run(`${line.replace("HASH", first)} --dir ${root}`)
  expect([answer.code, answer.err]).toEqual([1, expect.stringContaining(error)])
})

test("status, prune and clear", async () => {
  using home = createTestHome()
  const { run } = await project(home)
  expect((await run("status")).out).toMatch(/Directories 1\n {2}~\/project {2}\(1 snapshot, last /u)
  expect((await run("prune")).out).toMatch(/^Removed 0 snapshots; the store has /u)
  expect((await run("clear")).code).toBe(1)
  expect((await run("clear -f")).out).toMatch(/^Freed /u)
  expect((await run("clear -f")).out).toBe("There are no snapshots.\n")
})

test("an older layout is removed, and nothing else", async () => {
  using home = createTestHome()
  const folder = join(home.home.path, "checkpoints")
  for (const name of ["0123456789abcdef", "20260101_000000_abcdef"]) mkdirSync(join(folder, name), { recursive: true })
  writeFileSync(join(folder, "0123456789abcdef", "HEAD"), "ref: refs/heads/main\n")
  const { run } = await project(home)
  expect((await run("clear-legacy -f")).out).toBe("Freed 21 B.\n")
  expect((await run("clear-legacy -f")).out).toBe("There are no snapshots of an older layout.\n")
})
