import { writeFile } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { systemClock } from "../../src/base/clock.ts"
import { callsTool, refuses, says } from "../support/model-server/turn.ts"
import { testImage } from "../support/test-image.ts"
import { assembleOn, WIRES, wireProblems } from "./agent/on-every-wire.ts"
import { extendsRequest } from "./agent-long/request-prefix.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

const SHOT = testImage({ width: 40, height: 30, type: "png" })
const IMPATIENT = { ...systemClock, sleep: () => Promise.resolve() }
const LOOKS = callsTool("read_file", { path: "shot.png" }, { id: "call_a" })

test.each(WIRES)("on %s a model that reads an image sees it, and what was sent stays as it was", async (wire) => {
  await using house = await assembleOn(wire, [LOOKS, says("A red half."), says("And a blue one.")])
  await writeFile(join(house.home.workdir, "shot.png"), SHOT)
  const session = await house.open()
  expect((await runToEnd(session, "what is on it?")).end.result.finalResponse).toBe("A red half.")
  await runToEnd(session, "is that all?")
  const [, second, third] = house.model.requests
  expect(second?.rawBody.split(SHOT.toString("base64"))).toHaveLength(2)
  expect(house.model.toolResults(1)[0]?.text).toContain('"width":40,"height":30')
  expect(wireProblems(house.model, 1)).toEqual([])
  if (wire === "chat_completions") expect(extendsRequest(second?.rawBody ?? "", third?.rawBody ?? "")).toBe(true)
  else expect(third?.rawBody).toContain(SHOT.toString("base64"))
})

test("a model that is known to see nothing gets a description from another one", async () => {
  await using house = await assembleApp([LOOKS, says("a red and a blue half"), says("Red and blue.")], {
    config: "  supports_vision: false\nauxiliary:\n  vision:\n    provider: custom\n    model: seeing-model\n",
  })
  await writeFile(join(house.home.workdir, "shot.png"), SHOT)
  expect((await runToEnd(await house.open(), "what is on it?")).end.result.finalResponse).toBe("Red and blue.")
  const [result] = house.model.toolResults(2)
  expect(result?.text).toContain("[image, described by another model: a red and a blue half]")
  expect(house.model.requests[2]?.rawBody).not.toContain(SHOT.toString("base64"))
})

test("a server that refuses the image gets the rest, and the person is told", async () => {
  const refused = refuses(400, "this model does not support image input")
  await using house = await assembleApp([LOOKS, refused, says("I cannot see it.")], { clock: IMPATIENT })
  await writeFile(join(house.home.workdir, "shot.png"), SHOT)
  const { end, events } = await runToEnd(await house.open(), "what is on it?")
  expect(end.result.finalResponse).toBe("I cannot see it.")
  expect(house.model.requests[2]?.rawBody).not.toContain(SHOT.toString("base64"))
  const notices = events.flatMap((event) => (event.type === "status" && event.kind === "notice" ? [event.text] : []))
  expect(notices).toEqual([expect.stringContaining("the model takes no images")])
})
