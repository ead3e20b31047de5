import { spawnSync } from "node:child_process"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"

import { temporaryHome } from "../../test/support/temporary-home.ts"
import { createLocalWorkspace } from "./local/local-workspace.ts"
import { createShellFiles } from "./shell-files.ts"
import { viewForOneCall } from "./view-for-one-call.ts"
import type { Workspace } from "./workspace.ts"

/** Commands run here, and files are asked for as if they were far away; `journeys` counts what would have to travel. */
function farWorkspace(folder: string): { readonly workspace: Workspace; readonly journeys: () => number } {
  let journeys = 0
  const local = createLocalWorkspace({
    cwd: folder,
    userHome: folder,
    environment: { PATH: process.env["PATH"] ?? "" },
  })
  const files = createShellFiles({
    cwd: () => folder,
    home: folder,
    maxInputBytes: 1_000_000,
    ask: (script, args, stdin) => {
      journeys += 1
      const answer = spawnSync("sh", ["-c", script, "hermes", ...args], { input: stdin ?? new Uint8Array() })
      return Promise.resolve({ failed: answer.status !== 0, stdout: answer.stdout, stderr: answer.stderr.toString() })
    },
  })
  return { workspace: { ...local, files }, journeys: () => journeys }
}

const limits = () => ({ timeoutMs: 20_000, signal: new AbortController().signal, keepChars: 1000 })

test("a file that was judged is looked at and read in one journey more", async () => {
  await using home = await temporaryHome({ workFiles: { "d/a": "one" } })
  const far = farWorkspace(home.workdir)
  const { files } = viewForOneCall(far.workspace)
  await Promise.all([files.realPath("d/a"), files.realPath(".")])
  expect(far.journeys()).toBe(1)
  expect(await files.realPath("./d/../d/a")).toBe(join(home.workdir, "d/a"))
  expect((await files.stat("."))?.kind).toBe("directory")
  expect(far.journeys()).toBe(1)
  expect((await files.stat("d/a"))?.size).toBe(3)
  expect(String(await files.read("d/a"))).toBe("one")
  expect((await files.stat("d/a"))?.size).toBe(3)
  expect(far.journeys()).toBe(2)
})

test("the facts of a file are those of the moment they are asked for, not of the judgement before", async () => {
  await using home = await temporaryHome({ workFiles: { a: "one" } })
  const { files } = viewForOneCall(farWorkspace(home.workdir).workspace)
  await files.realPath("a")
  await files.realPath("new")
  await writeFile(join(home.workdir, "a"), "longer")
  await writeFile(join(home.workdir, "new"), "there")
  expect([(await files.stat("a"))?.size, (await files.stat("new"))?.size]).toEqual([6, 5])
})

test("after a write the new facts are known, and the content is read again", async () => {
  await using home = await temporaryHome({ workFiles: { a: "one" } })
  const far = farWorkspace(home.workdir)
  const { files } = viewForOneCall(far.workspace)
  await files.realPath("a")
  await files.stat("a")
  await files.write("a", "three")
  expect(far.journeys()).toBe(3)
  expect((await files.stat("a"))?.size).toBe(5)
  expect(far.journeys()).toBe(3)
  await writeFile(join(home.workdir, "a"), "spoilt")
  expect(String(await files.read("a"))).toBe("spoilt")
})

test("nothing is remembered over a command, a removal or a move", async () => {
  await using home = await temporaryHome({ workFiles: { a: "one", b: "two" } })
  const view = viewForOneCall(farWorkspace(home.workdir).workspace)
  const { files } = view
  await files.realPath("a")
  await files.stat("a")
  await view.run("rm a; ln -s b a", limits()).exit
  expect([await files.realPath("a"), String(await files.read("a"))]).toEqual([join(home.workdir, "b"), "two"])
  await files.remove("a")
  expect(await files.stat("a")).toBeUndefined()
  await files.stat("b")
  await files.rename("b", "c")
  expect([await files.stat("b"), (await files.stat("c"))?.size]).toEqual([undefined, 3])
  expect(await readFile(join(home.workdir, "c"), "utf8")).toBe("two")
  await view.close()
})

test("where files are near, the view is the workspace itself", async () => {
  await using home = await temporaryHome()
  const local = createLocalWorkspace({ cwd: home.workdir, userHome: home.workdir, environment: {} })
  expect(viewForOneCall(local)).toBe(local)
  await local.close()
})
