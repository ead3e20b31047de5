import { expect, test } from "vitest"

import { createTestHome } from "../../../../test/support/command-run.ts"
import { systemClock } from "../../../base/clock.ts"
import { toSessionId } from "../../../protocol/identifiers.ts"
import { openSqliteStore } from "../../../state/sqlite/open-store.ts"
import { COMMAND_TREE } from "../../command-table.ts"
import { SESSION_BRANCH_COMMAND } from "../../command-table/session-branch.ts"

test("a session is branched off whole or up to a message; a wrong number is told", async () => {
  using home = createTestHome()
  const log = { debug: () => undefined, warning: () => undefined }
  const open = () => openSqliteStore({ path: home.home.file("state.db"), clock: systemClock, log })
  const store = await open()
  const parent = toSessionId("20260101_000000_aaaaaa")
  await store.createSession({ id: parent, source: "cli", startedAt: 1 })
  const [first] = await store.append(parent, [
    { role: "user", content: "one" },
    { role: "assistant", content: "two" },
  ])
  await store.close()
  const tree = { ...COMMAND_TREE, commands: [SESSION_BRANCH_COMMAND] }
  const run = (...line: readonly string[]) => home.run(["branch", ...line], { tree })

  const done = await run(parent, "--from", String(first), "--title", "other way")
  expect([done.code, done.out]).toEqual([
    0,
    expect.stringMatching(/^\S+ \("other way"\) branches off 20260101_000000_aaaaaa\. Continue/u),
  ])
  const wrong = await run(parent, "--from", "999")
  expect([wrong.code, wrong.err]).toEqual([
    1,
    expect.stringContaining("There is no message 999 in session 20260101_000000_aaaaaa."),
  ])
  expect((await run("nobody")).code).toBe(1)

  const again = await open()
  const child = (await again.lineage(parent)).find((node) => node.kind === "branch")
  expect(child).toMatchObject({ parent, title: "other way", messageCount: 1 })
  await again.close()
})
