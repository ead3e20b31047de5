import { expect, test } from "vitest"

import { weatherFacet } from "../../fixtures/agent/weather-facet.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"

const weatherIn = (city: string) => callsTool("get_weather", { city })

test("a capability is one file and one line in the list: tool, port, prompt layer, note and hook", async () => {
  await using assembled = await assembleApp([weatherIn("Oslo"), weatherIn("Atlantis"), says("Cold.")], {
    facets: [weatherFacet],
  })
  const { events, end } = await runToEnd(await assembled.open(), "How cold is it?")
  expect(end.result.finalResponse).toBe("Cold.")

  const [first] = assembled.model.requests
  expect(JSON.stringify(first?.body)).toContain("Call get_weather before you talk about the weather.")
  expect(assembled.model.toolResults(1).map(({ text }) => text)).toEqual(['{"degrees":-3}\n\n[Measured in the shade.]'])
  expect(assembled.model.toolResults(2).at(-1)?.text).toContain("Not run: Atlantis has no weather station")

  const ended = events.filter((event) => event.type === "tool-end")
  expect(ended).toMatchObject([
    { outcome: "ok", summary: "-3 degrees" },
    { outcome: "blocked", decision: { by: "rule", rule: "hook", choice: "deny" } },
  ])
})

test("a hook may rewrite the arguments; they are validated again", async () => {
  const rewrite = (city: unknown) => () => ({
    ...weatherFacet(),
    beforeTool: () => Promise.resolve({ kind: "rewrite" as const, args: { city } }),
  })
  await using moved = await assembleApp([weatherIn("Oslo"), says("Warm.")], { facets: [rewrite("Rome")] })
  const { events } = await runToEnd(await moved.open(), "How warm is it?")
  expect(moved.model.toolResults(1)[0]?.text).toContain('{"degrees":21}')
  expect(events.find((event) => event.type === "tool-start")).toMatchObject({ call: { args: { city: "Rome" } } })

  await using broken = await assembleApp([weatherIn("Oslo"), says("Hm.")], { facets: [rewrite(["no", "city"])] })
  await runToEnd(await broken.open(), "How warm is it?")
  expect(broken.model.toolResults(1)[0]?.text).toContain("city")
})

test("a check that fails denies the call, any other failure of a facet costs nothing", async () => {
  const failing = () => Promise.reject(new Error("bug"))
  const facets = [
    weatherFacet,
    () => ({ name: "guard", beforeTool: failing }),
    () => ({ name: "noise", beforeTurn: failing, promptLayers: failing, afterTool: failing, runEnded: failing }),
  ]
  await using assembled = await assembleApp([weatherIn("Rome"), says("Unknown.")], { facets })
  const { end } = await runToEnd(await assembled.open(), "How warm is it?")
  expect(end.result.finalResponse).toBe("Unknown.")
  expect(assembled.model.toolResults(1)[0]?.text).toContain("the check of guard failed: bug")
})

test("permission profile and attendance can change during a session", async () => {
  const remove = callsTool("terminal", { command: "rm -rf build" })
  await using assembled = await assembleApp([remove, says("One."), remove, says("Two."), remove, says("Three.")], {
    config: "terminal:\n  sandbox: off\n",
  })
  let isAttended = false
  const session = await assembled.open({ origin: { surface: "cli", attended: () => isAttended } })
  const outcomes: string[] = []
  const clean = async (): Promise<void> => {
    const { events } = await runToEnd(session, "clean up", (event) => {
      if (event.type === "approval-request" && isAttended)
        session.answer(event.requestId, { kind: "approval", choice: "once" })
    })
    outcomes.push(...events.flatMap((event) => (event.type === "tool-end" ? [event.outcome] : [])))
  }
  await clean()
  isAttended = true
  await clean()
  isAttended = false
  session.setPermissionProfile("full-auto")
  expect(session.facts.permissionProfile).toBe("full-auto")
  await clean()
  expect(outcomes).toEqual(["denied", "ok", "ok"])
})

test("a facet that fails when it is created or opened leaves nothing behind", async () => {
  const config = "max_concurrent_sessions: 1\n"
  const closed: string[] = []
  const early = () => ({ name: "early", close: () => Promise.resolve(void closed.push("early")) })
  const unopened = () => ({
    name: "unopened",
    opened: () => {
      throw new Error("not fatal")
    },
  })
  await using assembled = await assembleApp([says("Fine.")], { facets: [early, unopened], config })
  const session = await assembled.open()
  expect((await runToEnd(session, "hi")).end.result.finalResponse).toBe("Fine.")
  await session.close("test")
  expect(closed).toEqual(["early"])

  let fails = true
  const broken = () => {
    if (fails) throw new Error("broken facet")
    return undefined
  }
  await using other = await assembleApp([says("Fine.")], { facets: [broken], config })
  await expect(other.open()).rejects.toThrow("broken facet")
  fails = false
  // The first attempt has released its slot.
  expect((await runToEnd(await other.open(), "hi")).end.result.finalResponse).toBe("Fine.")
})
