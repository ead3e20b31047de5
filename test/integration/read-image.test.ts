import { writeFile } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { callsTool, refuses, says } from "../support/model-server/turn.ts"
import { testImage } from "../support/test-image.ts"
import { assembleOn, WIRES, wireProblems } from "./agent/on-every-wire.ts"
import { extendsRequest } from "./agent-long/request-prefix.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

const SCREENSHOT = testImage({ width: 40, height: 30, type: "png" })
const READS_IMAGE = callsTool("read_file", { path: "shot.png" }, { id: "call_a" })

test.each(WIRES)(
  "on %s an image from read_file is sent to the model, and later requests keep it unchanged",
  async (wire) => {
    await using assembled = await assembleOn(wire, [READS_IMAGE, says("A red half."), says("And a blue one.")])
    await writeFile(join(assembled.home.workdir, "shot.png"), SCREENSHOT)
    const session = await assembled.open()
    expect((await runToEnd(session, "what is on it?")).end.result.finalResponse).toBe("A red half.")
    await runToEnd(session, "is that all?")
    const [, second, third] = assembled.model.requests
    expect(second?.rawBody.split(SCREENSHOT.toString("base64"))).toHaveLength(2)
    expect(assembled.model.toolResults(1)[0]?.text).toContain('"width":40,"height":30')
    expect(wireProblems(assembled.model, 1)).toEqual([])
    if (wire === "chat_completions") expect(extendsRequest(second?.rawBody ?? "", third?.rawBody ?? "")).toBe(true)
    else expect(third?.rawBody).toContain(SCREENSHOT.toString("base64"))
  },
)

test("a model without vision receives a description from the auxiliary vision model", async () => {
  await using assembled = await assembleApp([READS_IMAGE, says("a red and a blue half"), says("Red and blue.")], {
    config: "  supports_vision: false\nauxiliary:\n  vision:\n    provider: custom\n    model: seeing-model\n",
  })
  await writeFile(join(assembled.home.workdir, "shot.png"), SCREENSHOT)
  expect((await runToEnd(await assembled.open(), "what is on it?")).end.result.finalResponse).toBe("Red and blue.")
  const [result] = assembled.model.toolResults(2)
  expect(result?.text).toContain("[image, described by another model: a red and a blue half]")
  expect(assembled.model.requests[2]?.rawBody).not.toContain(SCREENSHOT.toString("base64"))
})

test("when the server rejects the image, the request is sent without it and a notice is emitted", async () => {
  const refused = refuses(400, "this model does not support image input")
  await using assembled = await assembleApp([READS_IMAGE, refused, says("I cannot see it.")])
  await writeFile(join(assembled.home.workdir, "shot.png"), SCREENSHOT)
  const { end, events } = await runToEnd(await assembled.open(), "what is on it?")
  expect(end.result.finalResponse).toBe("I cannot see it.")
  expect(assembled.model.requests[2]?.rawBody).not.toContain(SCREENSHOT.toString("base64"))
  const notices = events.flatMap((event) => (event.type === "status" && event.kind === "notice" ? [event.text] : []))
  expect(notices).toEqual([
    expect.stringMatching(/has no vision, and the images could not be described: .*auxiliary\.vision/),
  ])
})
