import { expect, test } from "vitest"

import { createLogger } from "../../base/logger.ts"
import { createLocalWorkspace } from "../../exec/local/local-workspace.ts"
import type { Workspace } from "../../exec/workspace.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { closeWorkspace } from "./session-workspace.ts"

test("a workspace that does not close in time is abandoned and logged", async () => {
  await using home = await temporaryHome()
  const lines: string[] = []
  const log = createLogger({ redact: (text) => text, sinks: [{ level: "DEBUG", write: (line) => lines.push(line) }] })
  const left: string[] = []
  const workspace = (close: () => Promise<void>): Workspace => ({
    ...createLocalWorkspace({ cwd: home.workdir, userHome: home.userHome, environment: {} }),
    close,
    abandon: () => left.push("abandoned"),
  })
  await closeWorkspace(
    workspace(() => Promise.resolve()),
    log,
  )
  expect([left, lines]).toEqual([[], []])
  const never = Promise.withResolvers<void>()
  await closeWorkspace(
    workspace(() => never.promise),
    log,
    AbortSignal.abort(),
  )
  expect([left, lines]).toEqual([["abandoned"], [expect.stringContaining("did not close in time")]])
})
