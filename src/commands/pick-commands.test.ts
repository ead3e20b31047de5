import { expect, test } from "vitest"

import { assembleApp, runToEnd } from "../../test/integration/assembled-app.ts"
import { callsTool, says } from "../../test/support/model-server/turn.ts"
import type { Choice, ChoiceList, PickChoice } from "./choice-list.ts"
import { runSlashCommand } from "./slash-table.ts"

/** Chooses the entry with this label in each list, one list after the other. Undefined leaves the list. */
function pickerOf(labels: readonly (string | undefined)[], titles: string[] = []): PickChoice {
  return async function choose<T>(list: ChoiceList<T>) {
    const { signal } = new AbortController()
    let current = list
    for (const label of labels) {
      titles.push(current.title)
      if (label === undefined) return undefined
      const { choices } = await current.load(signal)
      const choice: Choice<T> | undefined = choices.find((each) => each.label.startsWith(label))
      const value = choice?.value ?? current.freeEntry?.(label)
      if (value === undefined) throw new Error(`no choice ${label} in ${choices.map((each) => each.label).join(", ")}`)
      const selection = await current.select?.(value, { mode: current.modes?.[0], signal })
      if (selection === undefined || selection.kind === "done") return { value, mode: current.modes?.[0] }
      if (selection.kind !== "open") throw new Error(selection.note)
      current = selection.list
    }
    throw new Error("the list needs another choice")
  }
}

test("commands without an argument open their list where one can be shown", async () => {
  await using assembled = await assembleApp([
    says("One."),
    callsTool("write_file", { path: "a.txt", content: "new" }),
    says("Written."),
  ])
  const { app } = assembled
  const earlier = await assembled.open()
  await runToEnd(earlier, "the first talk")
  await (await app.store()).setTitle(earlier.id, "First talk")
  const session = await assembled.open({ permissionProfile: "accept-edits" })
  await runToEnd(session, "write it")
  const opened: unknown[] = []
  const titles: string[] = []
  const run = async (line: string, labels: readonly (string | undefined)[], running = false): Promise<string> => {
    const outcome = await runSlashCommand(line, {
      app,
      session,
      open: (id) => {
        opened.push(id)
        return Promise.resolve(session)
      },
      confirm: () => Promise.resolve(true),
      pick: pickerOf(labels, titles),
      running,
      signal: new AbortController().signal,
    })
    return "text" in outcome ? outcome.text : outcome.kind
  }

  expect(await run("/permissions", ["plan"])).toMatch(/^Permission profile: plan\./u)
  expect(await run("/permissions", [undefined])).toBe("")
  expect(await run("/resume", ["First talk"])).toMatch(/^Continuing /u)
  expect(await run("/sessions", ["First talk"], true)).toMatch(/when the reply is complete/u)
  expect(opened).toEqual([earlier.id])
  expect(await run("/agents", [undefined])).toBe("")
  expect(await run("/model", [undefined])).toBe("")
  expect(await run("/model", ["custom", "test-model-2"])).toMatch(/test-model-2/u)
  expect(titles).toContain("Models of custom")
  expect(await run("/rollback", ["write_file", "Restore everything"])).toMatch(
    /^Restored [\da-f]{8}: a\.txt \(removed\)\./u,
  )
})
