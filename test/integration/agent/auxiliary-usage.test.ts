import { expect, test } from "vitest"

import { talk } from "../../fixtures/agent/histories.ts"
import { repeat, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import { seedSession } from "./seeded-session.ts"

test("the usage of an auxiliary task is emitted with its name and not added to the conversation", async () => {
  const script = repeat(({ rawBody }) =>
    rawBody.includes("You write context checkpoints")
      ? says("## Active Task\nNone.", { usage: { input: 700, output: 30 } })
      : says("Hello.", { usage: { input: 50, output: 2 } }),
  )
  await using assembled = await assembleApp([script], {
    config: "  context_length: 16000\ncompression:\n  strategy: summarize\nmemory:\n  flush_before_compress: false\n",
  })
  const session = await assembled.open({ resume: await seedSession(assembled, talk(60, 1500)) })
  const { events, end } = await runToEnd(session, "hi")
  const used = events.flatMap((event) =>
    event.type === "usage" ? [[event.task, event.usage.input, event.usage.output]] : [],
  )
  expect(used).toEqual([
    ["compression", 700, 30],
    [undefined, 50, 2],
  ])
  expect([end.result.usage.input, end.result.usage.output]).toEqual([50, 2])
  expect(events[0]?.type).toBe("run-start")
})
