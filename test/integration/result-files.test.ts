import { mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs"
import { dirname, join } from "node:path"

import { expect, test } from "vitest"

import { resultPath } from "../fixtures/agent/dispatch-harness.ts"
import { findBubblewrap } from "../support/bubblewrap.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import type { TurnFunction } from "../support/model-server/turn.ts"
import { titleWithReason } from "../support/skip-reason.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"
import type { AssembledApp } from "./assembled-app.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined

const LONG = callsTool("terminal", { command: "yes 'a private line' | head -n 9000" }, { id: "../../Documents/notes" })

/** The results of the last tool calls, as the model gets them. */
function texts({ model }: AssembledApp, count: number): readonly string[] {
  return model.requests.flatMap((_, index) => model.toolResults(index).map(({ text }) => text)).slice(-count)
}

test.skipIf(missing !== undefined)(
  titleWithReason("a long result is read by its own conversation, and changed by none", missing),
  async () => {
    let path = ""
    const withPath =
      (tool: string, input: (found: string) => Readonly<Record<string, unknown>>): TurnFunction =>
      () =>
        callsTool(tool, input(path))
    const attack = (found: string): string =>
      `grep -c private ${found}; echo x >> ${found}; rm -r ${dirname(found)}; mv ${dirname(found)} moved; ls ${dirname(dirname(found))} | wc -l; ls ${join(dirname(found), "../..")}`
    await using assembled = await assembleApp(
      [
        LONG,
        says("Long."),
        withPath("terminal", (found) => ({ command: attack(found) })),
        withPath("search_files", (found) => ({ pattern: "a private line", path: dirname(found), limit: 1 })),
        says("Read."),
        withPath("read_file", (found) => ({ path: found, limit: 2 })),
        withPath("search_files", (found) => ({ pattern: "a private line", path: join(found, "../..") })),
        withPath("terminal", (found) => ({ command: `cat ${found}; ls ${dirname(found)}` })),
        says("Refused."),
        withPath("read_file", (found) => ({ path: found, limit: 2 })),
        says("Resumed."),
      ],
      { config: "terminal: {sandbox: required}\n" },
    )
    const first = await assembled.open()
    await runToEnd(first, "go")
    const [stored = ""] = texts(assembled, 1)
    path = resultPath(stored)
    const whole = readFileSync(path, "utf8")
    expect(dirname(dirname(path))).toBe(join(assembled.home.path, "cache/hermes-results"))
    await runToEnd(first, "go on")
    const [shown = "", found = ""] = texts(assembled, 2)
    expect(shown).toMatch(/"output":"[1-9]/u)
    expect(shown.match(/Read-only file system/gu)).toHaveLength(3)
    expect([shown.includes("1\\nhermes-results"), found.includes("a private line")]).toEqual([true, true])
    await first.close("exit")
    const other = await assembled.open()
    await runToEnd(other, "go")
    const [read = "", search = "", command = ""] = texts(assembled, 3)
    expect(read).toContain("belongs to Hermes itself or to other conversations")
    expect(search + command).not.toContain('a private line"')
    expect(command).toContain("No such file")
    await other.close("exit")
    const resumed = await assembled.open({ resume: first.id })
    await runToEnd(resumed, "go")
    expect(texts(assembled, 1)[0]).toContain("a private line")
    await resumed.close("exit")
    expect(readFileSync(path, "utf8")).toBe(whole)
  },
)

test("a link in the position of the results is not followed, and the beginning is still shown", async () => {
  await using assembled = await assembleApp([LONG, says("Long.")], { config: "terminal: {sandbox: off}\n" })
  const documents = join(assembled.home.userHome, "Documents")
  mkdirSync(documents)
  mkdirSync(join(assembled.home.path, "cache"), { recursive: true })
  symlinkSync(documents, join(assembled.home.path, "cache/hermes-results"))
  const session = await assembled.open()
  await runToEnd(session, "go")
  const [shown = ""] = texts(assembled, 1)
  expect(shown).toContain("could not be saved")
  await session.close("exit")
  expect(readdirSync(documents)).toEqual([])
})
