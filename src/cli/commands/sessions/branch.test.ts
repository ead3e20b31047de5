import { expect, test } from "vitest"

import { createCliHome } from "../../../../test/support/cli-home.ts"
import { systemClock } from "../../../base/clock.ts"
import { toSessionId } from "../../../protocol/identifiers.ts"
import { openSqliteStore } from "../../../state/sqlite/open-store.ts"
import { COMMAND_TREE } from "../../command-table/command-tree.ts"
import { SESSION_BRANCH_COMMAND } from "../../command-table/session-branch.ts"

test("branch prints how to continue the new session; a wrong message number and an unknown session fail", async () => {
  using home = createCliHome()
  const log = { debug: () => undefined, warning: () => undefined }
  const store = await openSqliteStore({ path: home.home.file("state.db"), clock: systemClock, log })
  const parent = toSessionId("20260101_000000_aaaaaa")
  await store.createSession({ id: parent, source: "cli", startedAt: 1 })
  const [first] = await store.append(parent, [
    { role: "user", content: "one" },
    { role: "assistant", content: "two" },
  ])
  await store.close()
  const tree = { ...COMMAND_TREE, commands: [SESSION_BRANCH_COMMAND] }
  const run = (...line: readonly string[]) => home.run(["branch", ...line], { tree })

  const done = await run(parent, "--from", String(first), "--title", "variant")
  expect([done.code, done.out]).toEqual([
    0,
    expect.stringMatching(/^\S+ \("variant"\) branches off 20260101_000000_aaaaaa\. Continue/u),
  ])
  const wrong = await run(parent, "--from", "999")
  expect([wrong.code, wrong.err]).toEqual([
    1,
    expect.stringContaining("There is no message 999 in session 20260101_000000_aaaaaa."),
  ])
  expect((await run("unknown")).code).toBe(1)
})
