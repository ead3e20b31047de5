import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { createCliHome } from "../../../../test/support/cli-home.ts"
import type { CliHome } from "../../../../test/support/cli-home.ts"
import { systemClock } from "../../../base/clock.ts"
import { createShadowStore } from "../../../exec/checkpoints/shadow-store.ts"
import type { CommandTree } from "../../command.ts"
import { COMMAND_TREE } from "../../command-table/command-tree.ts"
import { CHECKPOINTS_COMMAND } from "../../command-table/checkpoints.ts"

const signal = new AbortController().signal
const tree: CommandTree = { ...COMMAND_TREE, commands: [CHECKPOINTS_COMMAND] }

interface TestProject {
  readonly root: string
  readonly first: string
  readonly run: (line: string) => ReturnType<CliHome["run"]>
}

/** Creates a project with one snapshot, and a file that was changed after it. */
async function project(home: CliHome): Promise<TestProject> {
  const root = join(home.directory, "project")
  mkdirSync(root)
  writeFileSync(join(root, "package.json"), "{}\n")
  writeFileSync(join(root, "a.txt"), "old\n")
  const path = process.env["PATH"] ?? ""
  const store = createShadowStore({ home: home.home.path, path, maxSnapshots: 20, maxFileMb: 10, clock: systemClock })
  const { hash } = await store.snapshot(root, { reason: "before write_file a.txt" }, signal)
  writeFileSync(join(root, "a.txt"), "new\n")
  const run: TestProject["run"] = (line) =>
    home.run(["checkpoints", ...line.split(" ")], { tree, variables: { PATH: path } })
  return { root, first: hash, run }
}

test("list, diff and restore print what they found and how to undo a restore", async () => {
  using home = createCliHome()
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
    expect.stringContaining("restored  a.txt\nTo undo this: hermes checkpoints restore "),
  ])
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("old\n")
  const undo = /restore ([0-9a-f]+)/u.exec(done.out)?.[1] ?? ""
  expect((await run(`restore ${undo} -y --dir ${root}`)).code).toBe(0)
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("new\n")
})

test.each(["diff zz", "diff abcdef12", "diff HASH ../x", "restore HASH .git/config -y", "restore HASH missing -y"])(
  "%s is refused in one sentence and changes nothing",
  async (line) => {
    using home = createCliHome()
    const { root, first, run } = await project(home)
    const { code, out, err } = await run(`${line.replace("HASH", first)} --dir ${root}`)
    expect({ code, out }).toEqual({ code: 1, out: "" })
    expect(err).toMatch(/^["A-Z].*\.\n$/u)
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("new\n")
  },
)

test.each(["list", "diff abcd", "restore abcd -y"])(
  "%s of a missing directory says that it does not exist",
  async (line) => {
    using home = createCliHome()
    const { root, run } = await project(home)
    expect(await run(`${line} --dir ${root}/nope`)).toMatchObject({
      code: 2,
      out: "",
      err: "The directory ~/project/nope does not exist.\n",
    })
    expect((await run(`${line} --dir ${root}/a.txt`)).err).toBe("~/project/a.txt is not a directory.\n")
  },
)

test("status, prune and clear", async () => {
  using home = createCliHome()
  const { run } = await project(home)
  expect((await run("status")).out).toMatch(/Directories 1\n {2}~\/project {2}\(1 snapshot, last /u)
  expect((await run("prune")).out).toMatch(/^Removed 0 snapshots; the store now takes /u)
  expect((await run("clear")).code).toBe(1)
  expect((await run("clear -y")).out).toMatch(/^Freed /u)
  expect((await run("clear -f")).out).toBe("There are no snapshots.\n")
})

test("clear-legacy prints how much it freed", async () => {
  using home = createCliHome()
  const legacy = join(home.home.path, "checkpoints", "0123456789abcdef")
  mkdirSync(legacy, { recursive: true })
  writeFileSync(join(legacy, "HEAD"), "ref: refs/heads/main\n")
  const { run } = await project(home)
  expect((await run("clear-legacy -f")).out).toBe("Freed 21 B.\n")
  expect((await run("clear-legacy -f")).out).toBe("There are no snapshots of an older layout.\n")
})
